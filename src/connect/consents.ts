/**
 * Consents from their one-time link, or the command that asks, to a connection. Each step is opened once, by something
 * that only its rightful next actor has; the outcome is kept for whoever waits for it. A user who said no is not asked
 * again. Whatever goes wrong is one of a few codes, without a word of what the provider wrote.
 */
import { randomUUID } from 'node:crypto';
import type { ConnectionAuth } from '../model/connection';
import type {
  ConnectionView,
  ConsentAnswer,
  ConsentFailure,
  ConsentView,
  ConsentWanted,
} from '../model/consent';
import type { ConsentError } from '../model/consent-error';
import { Problem } from '../model/problem';
import type { Connections, Consents as ConsentStore } from '../model/store';
import type { Clock } from '../tools/clock';
import { equalInConstantTime } from '../tools/secret';
import type { SeenOrganization } from './connection-book';
import { viewOf } from './connection-view';
import { makeConsentMethods } from './consent-methods';
import { type ConsentRecord, hashOf, openPending, randomKey, recordOf, sealPending } from './consent-record';
import { GrantRefusal } from './grant-refusal';
import { type KeepDoors, keepConnection } from './keep-connection';
import { makePatience } from './patience';

export interface ConsentDoors extends KeepDoors {
  store: ConsentStore & Pick<Connections, 'listConnections' | 'findConnection' | 'saveConnection'>;
  /** What is used when nothing else is said. */
  auth: ConnectionAuth;
  publicUrl: string | null;
  /** Resolves to what the new connection sees; null when that could not be learned yet. */
  connected(connectionId: string): Promise<SeenOrganization[] | null>;
  clock: Clock;
}

/** What the browser came back with. */
export interface BrowserAnswer {
  /** The state, or the request token. */
  token: string;
  /** The code, or the verifier; null when there is none. */
  code: string | null;
  /** What it came back with instead of a code; null where it says nothing of the kind. */
  error: ConsentError | null;
}

export interface Opened {
  address: string;
  /** What the browser will come back with: the state, or the request token. */
  token: string;
}

export type Ended = ConsentView & { seen: SeenOrganization[] | null };

export interface Consents {
  /** Throws `settings.invalid` where what it takes is not configured, `provider.…` as the provider answers. */
  ask(wanted: ConsentWanted): Promise<ConsentView>;
  /** Throws `command.not-found`. */
  view(consentId: string): Promise<ConsentView>;
  /** What a command carried. Throws `command.not-found` where nothing waits for it. */
  answer(consentId: string, answer: ConsentAnswer): Promise<ConsentView>;
  /** A browser opens the link: where it goes on. null when the link opens nothing. Throws `GrantRefusal`. */
  open(link: string, browser: string): Promise<Opened | null>;
  /** A browser comes back. null when nobody waits for it; another browser than began it ends nothing. */
  returned(answer: BrowserAnswer, browser: string): Promise<Ended | null>;
}

const linkLifeMs = 900_000;
const outcomeLifeMs = 3_600_000;
const strangeBrowser = 'it came back in another browser than it began in';
const outOfBand = 'urn:ietf:wg:oauth:2.0:oob';

/**
 * Consents under way, each kept in the store so that any process may go on with it. Rejects with coded problems; what
 * a consent holds is sealed.
 */
export function makeConsents(doors: ConsentDoors): Consents {
  const progress = makeProgress(doors);
  const { begin, end, fail, save, view } = progress;
  const { store, sealer, clock } = doors;
  return {
    async ask({ auth: wanted, user, callback: own }) {
      const auth = wanted ?? doors.auth;
      const callback = callbackOf(doors, auth, own);
      const consentId = randomUUID();
      const none = {
        sealed: null,
        browser: null,
        connectionId: null,
        unseen: null,
        code: null,
        detail: null,
      };
      const record: ConsentRecord = { auth, step: 'link', carried: own !== null, callback, user, ...none };
      if (record.carried) {
        const { address } = await begin(consentId, record).catch(rethrowAsProblem);
        return { ...(await view(consentId)), address };
      }
      const link = randomKey();
      await save(consentId, hashOf('link', link), record, linkLifeMs);
      return { ...(await view(consentId)), address: `${callback.replace(/\/callback$/, '')}?link=${link}` };
    },
    view,
    async answer(consentId, { code, token }) {
      const taken = await store.takeConsent(hashOf('carried', consentId));
      if (taken === null) throw new Problem('command.not-found', 'no consent waits for this answer');
      const record = recordOf(taken);
      const pending = openPending(consentId, record.sealed ?? '', sealer);
      if (token !== null && !equalInConstantTime(token, pending.token))
        return fail(consentId, record, 'consent-refused', 'the answer belongs to another request');
      return end(consentId, record, code);
    },
    async open(link, browser) {
      const key = hashOf('link', link);
      const taken = await store.takeConsent(key);
      if (taken === null) return null;
      const record = { ...recordOf(taken), browser: hashOf('browser', browser) };
      try {
        return await begin(taken.consentId, record);
      } catch (error) {
        if (!(error instanceof GrantRefusal)) throw error;
        // Nothing was asked of anybody: the link opens once more, as long as it would have.
        const leftMs = Math.max(1, taken.expiresAtMs - clock.nowMs());
        if (error.fault === 'unavailable') await save(taken.consentId, key, recordOf(taken), leftMs);
        else await fail(taken.consentId, record, failureOf(error), error.message);
        throw error;
      }
    },
    async returned({ token, code, error }, browser) {
      const taken = await store.takeConsent(hashOf('answer', token));
      if (taken === null) return null;
      const record = recordOf(taken);
      const { consentId } = taken;
      if (!equalInConstantTime(record.browser ?? '', hashOf('browser', browser))) {
        // Whoever learns of the way back must not end it for the one who began: it opens once more, as long as before.
        const noted = { ...record, code: 'consent-other-browser', detail: strangeBrowser } as const;
        await save(consentId, hashOf('answer', token), noted, Math.max(1, taken.expiresAtMs - clock.nowMs()));
        return { ...(await view(consentId)), seen: null };
      }
      if (error !== null) return fail(consentId, record, error.code, error.detail);
      if (code === null) return fail(consentId, record, 'consent-refused', 'it came back without an answer');
      return end(consentId, record, code);
    },
  };
}

/** The steps that more than one way shares. */
function makeProgress(doors: ConsentDoors) {
  const { store, sealer, calls, server, clock } = doors;
  const methods = makeConsentMethods(calls, server, clock);

  const save = (consentId: string, key: string | null, record: ConsentRecord, lifeMs: number) =>
    store.saveConsent({ consentId, key, body: JSON.stringify(record) }, lifeMs);

  /** Asks the provider and keeps what its answer is checked with; resolves to where the user goes. */
  async function begin(consentId: string, record: ConsentRecord): Promise<Opened> {
    const { address, pending } = await methods.begin(record);
    const sealed = sealPending(consentId, pending, sealer);
    const key = record.carried ? hashOf('carried', consentId) : hashOf('answer', pending.token);
    await save(consentId, key, { ...record, step: 'asked', sealed }, linkLifeMs);
    return { address, token: pending.token };
  }

  /** From the user's answer to the end, whichever it is. */
  async function end(consentId: string, record: ConsentRecord, code: string): Promise<Ended> {
    const pending = openPending(consentId, record.sealed ?? '', sealer);
    const taken: ConsentRecord = { ...record, step: 'taken', sealed: null, code: null, detail: null };
    await save(consentId, null, taken, linkLifeMs);
    try {
      const patience = makePatience(clock);
      const grant = await methods.redeem(record, pending, code, patience);
      const { connectionId, before } = await keepConnection(doors, grant, record.user, patience);
      const seen = await doors.connected(connectionId);
      const shown = seen === null ? null : new Set(seen.map(({ id }) => id));
      const unseen = shown === null ? null : before.filter((id) => !shown.has(id));
      await save(consentId, null, { ...taken, step: 'done', connectionId, unseen }, outcomeLifeMs);
      return { ...(await view(consentId)), seen };
    } catch (error) {
      if (!(error instanceof GrantRefusal)) throw error;
      return fail(consentId, taken, failureOf(error), error.message);
    }
  }

  async function fail(
    consentId: string,
    record: ConsentRecord,
    code: ConsentFailure,
    detail: string,
  ): Promise<Ended> {
    await save(consentId, null, { ...record, step: 'failed', sealed: null, code, detail }, outcomeLifeMs);
    return { ...(await view(consentId)), seen: null };
  }

  async function view(consentId: string): Promise<ConsentView> {
    const stored = await store.findConsent(consentId);
    if (stored === null) throw new Problem('command.not-found', 'there is no such consent');
    const { auth, step, code, detail, connectionId, unseen } = recordOf(stored);
    const over = step !== 'done' && step !== 'failed' && stored.expiresAtMs <= clock.nowMs();
    const connection = connectionId === null ? null : await store.findConnection(connectionId);
    return {
      id: consentId,
      auth,
      step: over ? 'failed' : step,
      address: null,
      expiresAt: new Date(stored.expiresAtMs).toISOString(),
      code: over ? 'consent-expired' : code,
      detail: over ? 'nobody answered in time' : detail,
      connection: connection === null ? null : shownBy(viewOf(connection), unseen),
      unseen: unseen ?? [],
    };
  }

  return { save, begin, end, fail, view };
}

/** The row keeps what a former token saw and no other connection sees; here stands what the new one was shown. */
function shownBy(connection: ConnectionView, unseen: string[] | null): ConnectionView {
  if (unseen === null) return { ...connection, organizations: [] };
  const missed = new Set(unseen);
  const organizations = connection.organizations.filter((id) => !missed.has(id));
  return { ...connection, organizations };
}

/** Where the answer goes. Throws `settings.invalid`. */
function callbackOf(
  { server, publicUrl }: Pick<ConsentDoors, 'server' | 'publicUrl'>,
  auth: ConnectionAuth,
  own: string | null,
): string {
  if (auth === 'oauth2' && server === null)
    throw new Problem('settings.invalid', 'PROVIDER_ISSUER must name the issuer before a user can consent');
  if (own !== null) return auth === 'oauth2' && own.toLowerCase() === 'oob' ? outOfBand : own;
  if (publicUrl !== null) return `${publicUrl.replace(/\/$/, '')}/connect/callback`;
  throw new Problem(
    'settings.invalid',
    'PUBLIC_URL must say how browsers reach the public listener; or use tramline connect --oob',
  );
}

function failureOf({ fault }: GrantRefusal): ConsentFailure {
  switch (fault) {
    case 'other-user':
      return 'consent-other-user';
    case 'unavailable':
      return 'provider-unavailable';
    case 'unusable':
      return 'provider-answer-unusable';
    default:
      return 'consent-refused';
  }
}

function rethrowAsProblem(error: unknown): never {
  if (!(error instanceof GrantRefusal)) throw error;
  if (error.fault === 'unavailable') throw new Problem('provider.unavailable', error.message);
  throw new Problem(error.fault === 'unusable' ? 'provider.malformed' : 'provider.refused', error.message);
}
