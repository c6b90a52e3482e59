/**
 * A 429 is meant for the client key: whatever call heard one, none is sent before the pause that it asks for is over. A
 * call that would be made meanwhile is answered like the one that heard it. Who keeps the pause, for other processes and
 * later lives, is elsewhere.
 */
import type { Clock } from '../tools/clock';
import type { Line } from './ask';
import type { Verdict } from './classify';
import type { Exchange } from './client';
import type { ClientPause } from './options';

/** Must stand around what sends: then no call that leads to another one goes past it. */
export function makePausingLine(line: Line, pause: ClientPause, clock: Pick<Clock, 'nowMs'>): Line {
  /** Of what was not sent. */
  const verdicts = new WeakMap<Exchange, Verdict>();

  function unsent(leftMs: number): Exchange {
    const exchange: Exchange = { status: null, code: 'rate-limited', wireBytes: 0 };
    verdicts.set(exchange, {
      kind: 'rate-limited',
      retryAfterMs: leftMs,
      untilMs: clock.nowMs() + leftMs,
    });
    return exchange;
  }

  return {
    async exchange(request, attempt) {
      const leftMs = pause.leftMs();
      if (leftMs > 0) return unsent(leftMs);
      const exchange = await line.exchange(request, attempt);
      if (exchange.status !== 429) return exchange;
      const verdict = line.verdictOf(exchange, request);
      if (verdict.kind === 'rate-limited') pause.asked(verdict.retryAfterMs);
      return exchange;
    },
    verdictOf: (exchange, question) => verdicts.get(exchange) ?? line.verdictOf(exchange, question),
  };
}
