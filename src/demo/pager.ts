/**
 * Where pages go in the demonstration: a sink that hands each page to whoever waits for it, as on-call would get it.
 * It repeats nothing and refuses nothing.
 */
import { pageOf } from '../alert/page';
import type { AlertSink } from '../alert/sink';
import type { Alert } from '../model/alert';

/** A page as the sink got it. */
export interface Page {
  alert: Alert;
  text: string;
}

export interface Pager {
  sink: AlertSink;
  /** Resolves with the next page; pages that nobody waited for come first, in order. */
  next(): Promise<Page>;
  /** How many pages of this name and state have come so far. */
  count(name: string, state: Page['alert']['state']): number;
}

/** Keeps every page of the demonstration, and lets it wait for the next. */
export function makePager(): Pager {
  const all: Page[] = [];
  const pages: Page[] = [];
  const waiting: ((page: Page) => void)[] = [];
  return {
    sink: {
      name: 'log',
      repeats: false,
      keeps: false,
      async post(alerts) {
        for (const alert of alerts) {
          const page = { alert, text: pageOf(alert) };
          all.push(page);
          const taker = waiting.shift();
          if (taker === undefined) pages.push(page);
          else taker(page);
        }
        return { taken: alerts.map(({ fingerprint }) => fingerprint), failed: [] };
      },
    },
    count: (name, state) => all.filter(({ alert }) => alert.name === name && alert.state === state).length,
    next: () =>
      new Promise((resolve) => {
        const page = pages.shift();
        if (page === undefined) waiting.push(resolve);
        else resolve(page);
      }),
  };
}
