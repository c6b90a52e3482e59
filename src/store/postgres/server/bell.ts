/**
 * Tells other processes that something is due or decided, after it is committed: never in the transaction itself, since
 * commits that notify wait for each other. A notification that is lost costs a poll's time and nothing else. Whoever only
 * listens does not hear that nobody speaks any more, so it asks now and then.
 */
import type { News } from '../../../model/store';
import { BoundedClient } from './client';
import { type DatabaseSettings, openPool, poolConfig } from './database';

export interface Bell {
  /** Rung at most every few milliseconds; never throws, and nobody waits for it. */
  ring(news: Iterable<News>): void;
  heed(listener: (news: News) => void): Promise<void>;
  close(): Promise<void>;
}

const channel = 'tramline';
const gapMs = 20;
const reconnectMs = 1000;
/** What is silent for longer is given up. */
const silentMs = 3500;

/** Asks the server after `askedEveryMs` each time whether the connection on which it listens still holds. */
export function makeBell(settings: DatabaseSettings, askedEveryMs = 5000): Bell {
  const config = poolConfig(settings);
  const ringer = openPool(settings, 1);
  const waiting = new Set<News>();
  const listeners: ((news: News) => void)[] = [];
  let rung: Promise<void> | null = null;
  let listening: BoundedClient | null = null;
  let again: NodeJS.Timeout | undefined;
  let asking: NodeJS.Timeout | undefined;
  let closed = false;

  async function ringOut(): Promise<void> {
    while (waiting.size > 0 && !closed) {
      const told = [...waiting].map((news) => `SELECT pg_notify('${channel}', '${news}');`);
      waiting.clear();
      // Nothing is lost with it: it needs no flush.
      const text = `BEGIN; SET LOCAL synchronous_commit = off; ${told.join(' ')} COMMIT`;
      await ringer.query(bounded(text)).catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, gapMs));
    }
    rung = null;
  }

  async function listen(): Promise<void> {
    const client = new BoundedClient(config);
    listening = client;
    const lost = () => {
      if (listening !== client || closed) return;
      listening = null;
      clearTimeout(asking);
      void client.end().catch(() => {});
      again = setTimeout(() => void listen(), reconnectMs);
      again.unref();
    };
    client.on('error', lost);
    client.on('end', lost);
    client.on('notification', ({ payload }) => {
      for (const listener of listeners) listener(payload as News);
    });
    const askLater = () => {
      if (listening !== client || closed) return;
      asking = setTimeout(() => client.query(bounded('SELECT 1')).then(askLater, lost), askedEveryMs);
      asking.unref();
    };
    try {
      await client.connect();
      await client.query(bounded(`LISTEN ${channel}`));
      askLater();
    } catch {
      lost();
    }
  }

  return {
    ring(news) {
      for (const one of news) waiting.add(one);
      if (waiting.size > 0 && !closed) rung ??= ringOut();
    },
    async heed(listener) {
      listeners.push(listener);
      if (listening === null && again === undefined) await listen();
    },
    async close() {
      closed = true;
      clearTimeout(again);
      clearTimeout(asking);
      await rung;
      await listening?.end().catch(() => {});
      await ringer.end();
    },
  };
}

/** pg takes a time limit for one query, which its types do not know. */
function bounded(text: string): { text: string } {
  return { text, query_timeout: silentMs } as { text: string };
}
