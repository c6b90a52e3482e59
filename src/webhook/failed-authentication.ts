/**
 * Repeated failed authentication from one address is answered 429 instead of 401. Only failures are counted, and only a
 * failure is ever refused here: a delivery that is authenticated never comes this way, whatever its address did before.
 */
import type { Request, RequestHandler } from 'express';
import { ipKeyGenerator, rateLimit, type Store } from 'express-rate-limit';
import type { Clock } from '../tools/clock';

/**
 * `next` runs while the address is within bounds, `tooMany` beyond. Addresses of one IPv6 /56 count as one. The address
 * is the socket's: behind a proxy all callers share one, which costs strangers nothing but another status.
 */
export function makeFailureLimit(
  bounds: { failuresMax: number; windowMs: number },
  clock: Clock,
  tooMany: RequestHandler,
): RequestHandler {
  return rateLimit({
    windowMs: bounds.windowMs,
    limit: bounds.failuresMax,
    store: makeFailureCounts(bounds.windowMs, clock),
    keyGenerator: (request: Request) => ipKeyGenerator(request.socket.remoteAddress ?? 'unknown'),
    handler: tooMany,
    standardHeaders: false,
    legacyHeaders: false,
    // Its checks write to the console, and this room does not log.
    validate: false,
  });
}

/** Counts per address in windows that begin with an address's first failure; never more addresses than the bound. */
export function makeFailureCounts(windowMs: number, clock: Clock, addressesMax = 10_000): Store {
  const counts = new Map<string, { failures: number; endsMs: number }>();
  return {
    localKeys: true,
    increment(address) {
      const nowMs = clock.nowMs();
      let count = counts.get(address);
      if (count === undefined || count.endsMs <= nowMs || count.endsMs > nowMs + windowMs) {
        counts.delete(address);
        // The address that came first is forgotten: memory stays bounded, whoever calls.
        if (counts.size >= addressesMax) counts.delete(counts.keys().next().value as string);
        count = { failures: 0, endsMs: nowMs + windowMs };
        counts.set(address, count);
      }
      count.failures += 1;
      return { totalHits: count.failures, resetTime: new Date(count.endsMs) };
    },
    decrement(address) {
      const count = counts.get(address);
      if (count !== undefined) count.failures -= 1;
    },
    resetKey(address) {
      counts.delete(address);
    },
  };
}
