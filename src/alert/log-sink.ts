/**
 * The sink that is always there: each beginning, end and change of severity is written once, with the page in full. It
 * writes through what it is given and keeps nothing.
 */
import type { Alert } from '../model/alert';
import { pageOf } from './page';
import type { AlertSink, PostResult } from './sink';

/** `write` gets one alert at a time and its page as text; one for which it throws is written again later. */
export function makeLogSink(write: (alert: Alert, page: string) => void): AlertSink {
  return {
    name: 'log',
    repeats: false,
    keeps: false,
    async post(alerts) {
      const result: PostResult = { taken: [], failed: [] };
      for (const alert of alerts) {
        try {
          write(alert, pageOf(alert));
          result.taken.push(alert.fingerprint);
        } catch {
          result.failed.push({ fingerprint: alert.fingerprint, retry: true });
        }
      }
      return result;
    },
  };
}
