/**
 * Goal: one blocked organization reaches each person on call by the sink that they have, one incident each, also where one of
 * the sinks is away when it begins; and where no sink is named, the log tells it.
 * Method: the service as a process, with stand-ins for PagerDuty and Slack, and the terms of one organization.
 */
import type { AlertView, CheckLine } from '../../src/model/api';
import { runCommand } from '../support/command';
import { type PagerDutyServer, type SlackServer, startPagerDuty, startSlack } from '../support/pager-server';
import { beginStory, notificationOf, type Story, soon } from '../support/story';
import { until } from '../support/until';

let pager: PagerDutyServer;
let slack: SlackServer;
let story: Story;

beforeEach(async () => {
  pager = await startPagerDuty('a-routing-key');
  slack = await startSlack('a-token');
});
afterEach(async () => {
  await story.end();
  await Promise.all([pager.stop(), slack.stop()]);
});

/** Terms block the first organization; its id and name. */
async function block(): Promise<{ id: string; name: string }> {
  const [machine] = await story.equipment();
  const [farm] = (await story.simulator.state()).organizations;
  await story.simulator.setOrganization(farm!.id, { termsAccepted: false });
  await story.simulator.changeEquipment(machine!.id, { name: 'Behind terms' });
  expect((await story.post([notificationOf(machine!)])).status).toBe(204);
  return farm!;
}

const accept = (id: string) => story.simulator.setOrganization(id, { termsAccepted: true });

test('PagerDuty and Slack are each told once that it begins and once that it ends, Slack when it is back', async () => {
  slack.next.push(...Array.from({ length: 2 }, () => ({ status: 503 })));
  const settings = {
    PAGERDUTY_ROUTING_KEY: 'a-routing-key',
    PAGERDUTY_URL: pager.url,
    SLACK_WEBHOOK_URL: slack.url,
  };
  story = await beginStory({ delivers: false, settings });
  const { id, name } = await block();
  await until(() => pager.incidents.size === 1 && slack.texts.length === 1, { ...soon, what: 'both pages' });
  expect([pager.opened, slack.next]).toEqual([1, []]);
  const [begun] = slack.texts;
  for (const told of [begun, [...pager.incidents.values()][0]!.summary]) expect(told).toContain(name);
  expect(begun).toContain(`/organizations/${id}/terms`);
  expect(begun).toContain(`tramline organizations probe ${id}`);

  await accept(id);
  await until(() => slack.texts.length > 1 && ![...pager.incidents.values()].some(({ open }) => open), {
    ...soon,
    what: 'both ends',
  });
  expect([pager.opened, slack.texts]).toEqual([1, [begun, expect.stringContaining(name)]]);
  expect(slack.texts[1]).not.toContain('tramline organizations probe');
});

test('while no sink takes the page, both commands for the one on call say that nobody was told', async () => {
  const away = () => Array.from({ length: 1000 }, () => ({ status: 500 }));
  pager.next.push(...away());
  slack.next.push(...away());
  const settings = {
    PAGERDUTY_ROUTING_KEY: 'a-routing-key',
    PAGERDUTY_URL: pager.url,
    SLACK_WEBHOOK_URL: slack.url,
  };
  story = await beginStory({ delivers: false, settings });
  const run = (...words: string[]) =>
    runCommand(words, { ...story.settings(), TRAMLINE_URL: story.service.operationsUrl });
  const sinksLine = async () =>
    (JSON.parse((await run('check', '--json')).out) as CheckLine[]).find(({ name }) => name === 'sinks');
  expect(await sinksLine()).toMatchObject({ state: 'ok', next: null });
  const { id } = await block();
  await until(async () => (await sinksLine())?.detail.match(/did not take.*did not take/), {
    ...soon,
    what: 'the check to fail',
  });
  const { code, out } = await run('check');
  expect(code).toBe(1);
  const said = out.replace(/\s+/g, ' ');
  for (const sink of ['PagerDuty', 'Slack'])
    expect(said).toMatch(new RegExp(`${sink} did not take TramlineTermsRequired, to be told since 20`));
  expect(said).toContain('→ sinks: `tramline alerts test` says what each answers.');
  const alerts = JSON.parse((await run('alerts', '--json')).out) as AlertView[];
  expect(alerts).toMatchObject([{ name: 'TramlineTermsRequired', notTold: ['pagerduty', 'slack'] }]);
  expect((await run('alerts')).out).toContain('\n  told   not yet to pagerduty, slack: `tramline check`');

  pager.next.splice(0);
  slack.next.splice(0);
  await until(async () => (await sinksLine())?.state === 'ok', { ...soon, what: 'the sinks to be well' });
  const told = JSON.parse((await run('alerts', '--json')).out) as AlertView[];
  expect(told).toEqual([expect.not.objectContaining({ notTold: expect.anything() })]);
  await accept(id);
});

test('where no sink is named the log says who must act, and that it is over', async () => {
  story = await beginStory({ delivers: false });
  const { id } = await block();
  const told = () => story.log('alert').filter(({ name }) => name === 'TramlineTermsRequired');
  await until(() => told().length > 0, { ...soon, what: 'the line' });
  await accept(id);
  await until(() => told().length > 1, { ...soon, what: 'the line of its end' });
  expect(told().map(({ state }) => state)).toEqual(['firing', 'resolved']);
});
