/**
 * The doors of commands in a real process. The settings, the store, Kafka and what they bring are loaded only when a command
 * goes through: asking a running service must not cost a second.
 */
import { createInterface } from 'node:readline/promises';
import type * as Config from '../config';
import type { LoadedSettings } from '../config';
import { Problem } from '../model/problem';
import { endsWithin, systemClock } from '../tools/clock';
import type * as KeptStore from '../wire/kept-store';
import type * as LoneSync from '../wire/lone-sync';
import type * as Move from '../wire/move';
import type * as OpenStore from '../wire/open-store';
import type * as Operations from '../wire/operations';
import { packageVersion } from '../wire/package-files';
import type * as Provider from '../wire/provider';
import type * as Reencrypt from '../wire/reencrypt';
import type * as StandInStore from '../wire/stand-in-store';
import type * as Topics from '../wire/topics';
import type { CommandDoors } from './context';
import { interrupted, keepBeforeEnd } from './early-end';

export const processDoors: CommandDoors = {
  load: () => (require('../config') as typeof Config).loadSettings('command'),
  version: packageVersion,
  async openStore(named, wish) {
    const { mustHaveCurrentStore } = require('../wire/kept-store') as typeof KeptStore;
    const { standInFor } = require('../wire/stand-in-store') as typeof StandInStore;
    if (wish === 'kept') await mustHaveCurrentStore(named.settings);
    if (wish === 'made') mayMakeStore(named);
    const standIn = wish === 'as-is' ? await standInFor(named, systemClock.nowMs()) : null;
    const { loaded } = standIn ?? { loaded: named };
    const { openStore } = require('../wire/open-store') as typeof OpenStore;
    const { apiOf } = require('../wire/operations') as typeof Operations;
    const store = await openStore(loaded.settings, say);
    const { makeOwnProvider } = require('../wire/provider') as typeof Provider;
    const own = makeOwnProvider(loaded.settings, store, undefined, say);
    keepBeforeEnd(() => endsWithin(own.close(), loaded.settings.shutdownSeconds * 1000, systemClock));
    const { makeLoneSync } = require('../wire/lone-sync') as typeof LoneSync;
    const sync = makeLoneSync(loaded, store);
    return {
      api: apiOf(loaded, store, { own, sync: sync.door, replay: sync.replay, standIn }),
      async close() {
        await own.close();
        await sync.close();
        await store.close();
      },
    };
  },
  async createTopics(settings) {
    const { createDeclaredTopics } = require('../wire/topics') as typeof Topics;
    return createDeclaredTopics(settings);
  },
  async reencrypt(loaded) {
    const { openStore } = require('../wire/open-store') as typeof OpenStore;
    const { reencryptTokens } = require('../wire/reencrypt') as typeof Reencrypt;
    mustHaveStore(loaded);
    const store = await openStore(loaded.settings, say);
    try {
      return await reencryptTokens(loaded.settings, store);
    } finally {
      await store.close();
    }
  },
  async ask(question) {
    const lines = createInterface({ input: process.stdin, output: process.stderr });
    try {
      // Where nobody can answer, nothing is the answer.
      const ended = new Promise<string>((resolve) => lines.once('close', () => resolve('')));
      return await Promise.race([lines.question(question), ended]);
    } finally {
      lines.close();
    }
  },
  moveStore(from, to, watch) {
    const { moveBetween } = require('../wire/move') as typeof Move;
    return moveBetween(from, to, { ...watch, waits: { tell: say } });
  },
  clock: systemClock,
  interrupted,
};

/** On standard error, whatever the answer is told as: a command that waits looks as if it hung, and what it lost is somebody's to mend. */
function say(detail: string): void {
  process.stderr.write(`${detail}\n`);
}

/** A store that is made for a command that cannot go on would answer from then on that nothing is to be done. */
function mayMakeStore({ settings, missing }: LoadedSettings): void {
  const { missingFile } = require('../wire/kept-store') as typeof KeptStore;
  const lacking = missing.map(({ name }) => name).filter((name) => /^(ENCRYPTION_KEYS|PROVIDER_)/.test(name));
  if (lacking.length === 0 || missingFile(settings) === null) return;
  const step = 'what each must be: tramline check';
  throw new Problem('settings.invalid', `${lacking.join(', ')} must be set before a store is made; ${step}`);
}

function mustHaveStore({ settings }: LoadedSettings): void {
  (require('../wire/kept-store') as typeof KeptStore).mustHaveStore(settings);
}
