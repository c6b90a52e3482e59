/**
 * Every call is made with the token that is good now: renewed ahead of its end, and after a 401 renewed and called once
 * more. However many calls find their token refused, it is renewed once. Who renews it, and how, is decided elsewhere.
 */
import type { Connection } from '../model/connection';
import type { Renewed, TokenRenewal } from '../model/consent';
import type { Line } from './ask';
import type { Attempt, Cut } from './attempt';
import type { Verdict } from './classify';
import type { Exchange } from './client';

type Unrenewed = Exclude<Renewed, { connection: unknown }> | Cut;

export function makeRenewingLine(line: Line, renewal: TokenRenewal): Line {
  /** What is known of an exchange beyond what it says itself. */
  const verdicts = new WeakMap<Exchange, Verdict>();

  function unrenewed(renewed: Unrenewed, shown: Connection, refused: Exchange | null): Exchange {
    const exchange: Exchange = refused ?? { status: null, code: 'token-unavailable', wireBytes: 0 };
    const verdict = verdictOf(renewed, shown);
    if (verdict.kind === 'reauthorize' && verdict.message === null && refused !== null) return exchange;
    verdicts.set(exchange, verdict);
    return exchange;
  }

  return {
    async exchange(request, attempt) {
      const { connection } = request;
      if (connection === null) return line.exchange(request, attempt);
      const ready = await readyOf(renewal.current(connection), attempt);
      if (!isRenewed(ready)) return unrenewed(ready, connection, null);
      const asked = { ...request, connection: ready.connection };
      const first = await line.exchange(asked, attempt);
      if (first.status !== 401 || line.verdictOf(first, asked).kind !== 'reauthorize') return first;
      const renewed = await attempt.during(renewal.renew(ready.connection));
      if (!isRenewed(renewed)) return unrenewed(renewed, ready.connection, first);
      attempt.cost.resends += 1;
      return line.exchange({ ...request, connection: renewed.connection }, attempt);
    },
    verdictOf: (exchange, question) => verdicts.get(exchange) ?? line.verdictOf(exchange, question),
  };
}

function readyOf(
  known: ReturnType<TokenRenewal['current']>,
  attempt: Attempt,
): Renewed | Promise<Renewed | Cut> {
  return known instanceof Promise ? attempt.during(known) : { connection: known };
}

function isRenewed(renewed: Renewed | Cut): renewed is Extract<Renewed, { connection: unknown }> {
  return typeof renewed === 'object' && 'connection' in renewed;
}

/** No origin is named where none was asked: an outage of the token endpoint says nothing about what is read. */
function verdictOf(renewed: Unrenewed, { connectionId, sealedToken }: Connection): Verdict {
  if (renewed === 'aborted') return { kind: 'aborted' };
  if (renewed === 'deadline') {
    const detail = 'the token was not renewed in time';
    return { kind: 'transient', code: 'deadline', detail, retryAfterMs: null, origin: '', connectionId };
  }
  if ('refused' in renewed)
    return { kind: 'reauthorize', connectionId, message: renewed.refused, sealedToken };
  if ('clientRefused' in renewed)
    return { kind: 'client-refused', connectionId, message: renewed.clientRefused };
  return { kind: 'transient', ...renewed.waits, origin: '', connectionId };
}
