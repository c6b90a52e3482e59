// What stories of consents share: a provider, a service that nobody has consented to yet and that browsers reach, and a
// person with a browser.
import { join } from 'node:path';
import type { ConnectionView } from '../../src/model/consent';
import { Browser, type Page } from './browser';
import { type Command, startCommand } from './command';
import { freePort } from './free-port';
import { temporaryFolder } from './service';
import { startSimulator } from './simulator';
import { Story, type StoryOptions } from './story';

export type ConnectStory = {
  story: Story;
  /** Settings of commands: they find the service. */
  environment: Record<string, string>;
  connect(...words: string[]): Command;
  /** By a link: the user opens it, presses its button and answers on the provider's page; null declines. */
  consent(command: Command, user: string | null, browser?: Browser): Promise<Page>;
  connections(): Promise<ConnectionView[]>;
};

/** Without a token in the settings, unless `settings` bring one. */
export async function beginConnectStory({
  flags = {},
  settings = {},
  ...rest
}: StoryOptions): Promise<ConnectStory> {
  const world = { organizations: 2, equipment: 3, 'field-operations': 1, 'heartbeat-ms': 0 };
  const simulator = await startSimulator({ ...world, ...flags });
  const port = String(await freePort());
  const publicUrl = `http://127.0.0.1:${port}`;
  const own = { PORT: port, PUBLIC_URL: publicUrl, PROVIDER_TOKENS: '', ...settings };
  const story = new Story(simulator, { flags, ...rest, settings: own }, temporaryFolder());
  await story.serve();
  const databaseUrl = `sqlite:${join(story.dataFolder, 'tramline.db')}`;
  const told = () => ({
    ...story.settings(),
    DATABASE_URL: databaseUrl,
    TRAMLINE_URL: story.service.operationsUrl,
  });
  return {
    story,
    get environment() {
      return told();
    },
    connect: (...words) => startCommand(['connect', ...words], told()),
    async consent(command, user, browser = new Browser()) {
      const link = await command.untilPrinted(/(http:\/\/127\.0\.0\.1:\d+\/connect\?link=[\w-]+)/);
      return browser.answer(await browser.press(link), user);
    },
    connections: () => story.ask<ConnectionView[]>('/api/connections'),
  };
}
