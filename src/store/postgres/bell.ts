/**
 * Tells other processes that something is due or decided, after it is committed: never in the transaction itself, since
 * commits that notify wait for each other. A notification that is lost costs a poll's time and nothing else.
 */
import { Client } from 'pg';
import type { News } from '../../model/store';
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

export function makeBell(settings: DatabaseSettings): Bell {
  const config = poolConfig(settings);
  const ringer = openPool(settings, 1);
  const waiting = new Set<News>();
  const listeners: ((news: News) => void)[] = [];
  let rung: Promise<void> | null = null;
  let listening: Client | null = null;
  let again: NodeJS.Timeout | undefined;
  let closed = false;

  async function ringOut(): Promise<void> {
    while (waiting.size > 0 && !closed) {
      const told = [...waiting].map((news) => `SELECT pg_notify('${channel}', '${news}');`);
      waiting.clear();
      // Nothing is lost with it: it needs no flush.
      await ringer
        .query(`BEGIN; SET LOCAL synchronous_commit = off; ${told.join(' ')} COMMIT`)
        .catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, gapMs));
    }
    rung = null;
  }

  async function listen(): Promise<void> {
    const client = new Client(config);
    listening = client;
    const lost = () => {
      if (listening !== client || closed) return;
      listening = null;
      again = setTimeout(() => void listen(), reconnectMs);
      again.unref();
    };
    client.on('error', lost);
    client.on('end', lost);
    client.on('notification', ({ payload }) => {
      for (const listener of listeners) listener(payload as News);
    });
    try {
      await client.connect();
      await client.query(`LISTEN ${channel}`);
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
      await rung;
      await listening?.end().catch(() => {});
      await ringer.end();
    },
  };
}
