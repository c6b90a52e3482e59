/**
 * Every call is made with the token that is good now: renewed ahead of its end, and after a 401 renewed and called once
 * more. However many calls find their token refused, it is renewed once; and one that a renewal gave a moment ago in vain is shown
 * elsewhere first: a 401 of one address alone is none of the token's. Who renews it, and how, is decided elsewhere.
 */
import type { Connection } from '../model/connection';
import type { Renewed, TokenRenewal } from '../model/consent';
import type { Clock } from '../tools/clock';
import type { Secret } from '../tools/secret';
import type { Line, Request } from './ask';
import type { Attempt, Cut } from './attempt';
import type { Verdict } from './classify';
import type { Exchange } from './client';
import type { ShowToken } from './proven-line';

/** So long a token that was given in vain is not renewed without a look elsewhere. */
const inVainMs = 60_000;

type Unrenewed = Exclude<Renewed, { connection: unknown }> | Cut;

/** For 60 s a token that a renewal gave in vain is renewed only where `show` finds it refused as well. Throws what `line` throws. */
export function makeRenewingLine(
  line: Line,
  renewal: TokenRenewal,
  show: ShowToken,
  clock: Pick<Clock, 'steadyMs'>,
): Line {
  /** By connection, the last that a renewal gave and that was refused where it was called with. */
  const inVain = new Map<string, { token: Secret; atMs: number }>();
  /** What is known of an exchange beyond what it says itself. */
  const verdicts = new WeakMap<Exchange, Verdict>();

  function unrenewed(renewed: Unrenewed, shown: Connection, refused: Exchange | null): Exchange {
    const exchange: Exchange = refused ?? { status: null, code: 'token-unavailable', wireBytes: 0 };
    const verdict = verdictOf(renewed, shown);
    if (verdict.kind === 'reauthorize' && verdict.message === null && refused !== null) return exchange;
    verdicts.set(exchange, verdict);
    return exchange;
  }

  function wasInVain({ connectionId, token }: Connection): boolean {
    const last = inVain.get(connectionId);
    return last?.token.open() === token.open() && clock.steadyMs() - last.atMs < inVainMs;
  }

  async function isRefusedElsewhere({ connection, url }: Request, attempt: Attempt): Promise<boolean> {
    await attempt.paid();
    const shown = await attempt.during(show(connection!, url));
    return typeof shown !== 'string' && shown.kind === 'reauthorize';
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
      if (wasInVain(ready.connection) && !(await isRefusedElsewhere(asked, attempt))) return first;
      const renewed = await attempt.during(renewal.renew(ready.connection));
      if (!isRenewed(renewed)) return unrenewed(renewed, ready.connection, first);
      attempt.cost.resends += 1;
      const second = await line.exchange({ ...request, connection: renewed.connection }, attempt);
      const { connectionId, token } = renewed.connection;
      if (second.status === 401) inVain.set(connectionId, { token, atMs: clock.steadyMs() });
      return second;
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
