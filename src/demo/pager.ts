/**
 * Where pages go in the demonstration: a sink that hands each page to whoever waits for it, as on-call would get it.
 * It repeats nothing and refuses nothing.
 */
import { pageOf } from '../alert/page';
import type { AlertSink } from '../alert/sink';
import type { Page } from './story';

export interface Pager {
  sink: AlertSink;
  /** Resolves with the next page; pages that nobody waited for come first, in order. */
  next(): Promise<Page>;
}

export function makePager(): Pager {
  const pages: Page[] = [];
  const waiting: ((page: Page) => void)[] = [];
  return {
    sink: {
      name: 'log',
      repeats: false,
      async post(alerts) {
        for (const alert of alerts) {
          const page = { alert, text: pageOf(alert) };
          const taker = waiting.shift();
          if (taker === undefined) pages.push(page);
          else taker(page);
        }
        return { taken: alerts.map(({ fingerprint }) => fingerprint), failed: [] };
      },
    },
    next: () =>
      new Promise((resolve) => {
        const page = pages.shift();
        if (page === undefined) waiting.push(resolve);
        else resolve(page);
      }),
  };
}
