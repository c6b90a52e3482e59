// A store with one of everything, as far as operators see it. It answers; it promises nothing about being durable.

import type { Alert } from '../../../src/model/alert';
import type { SealedConnection } from '../../../src/model/connection';
import type { ConnectionsApi, ConnectionView, ConsentView } from '../../../src/model/consent';
import type { PublishedEvent } from '../../../src/model/event';
import { completeRecord } from '../../../src/model/event';
import type { QuarantineView, TaskView } from '../../../src/model/inspection';
import { emptyLedger } from '../../../src/model/ledger';
import {
  type AccessChange,
  type Forgotten,
  type OrganizationView,
  transition,
} from '../../../src/model/organization';
import { Problem } from '../../../src/model/problem';
import type { Store } from '../../../src/model/store';
import type { ApiDoors } from '../../../src/operations/api';

const at = '2025-03-01T10:00:00.000Z';

export const organizations: OrganizationView[] = ['4711', '4712', '5000'].map((id, place) => ({
  id,
  name: place === 2 ? null : `Farm ${id}`,
  access: place === 1 ? 'terms-required' : 'active',
  since: place === 1 ? at : null,
  reason: place === 1 ? 'terms' : null,
  message: place === 1 ? 'Please accept the terms.' : null,
  actionUrl: place === 1 ? 'https://provider.example/terms' : null,
  parked: place === 1 ? 3 : 0,
  connection: 'c1',
  concerns: place === 1,
  forgotten: false,
  seen: true,
}));

/** A resource that was hinted twice at once and waits for its organization. */
const parkedSteps = [
  { at, step: 'hinted', text: 'delivery d7 said that it changed' },
  { at, step: 'hinted', text: 'delivery d7 said that it changed' },
  { at, step: 'parked', text: 'now parked: its organization is terms-required' },
];

const forgottenSteps = [{ at, step: 'parked', text: 'now parked: its organization is forgotten' }];

/** Of the one that is blocked. */
export const history: AccessChange[] = [
  {
    nth: 1,
    at,
    from: 'active',
    to: 'terms-required',
    by: 'probe',
    askedBy: 'refused-request',
    cause: 'terms',
    actionUrl: 'https://provider.example/terms',
    message: 'Please accept the terms.',
  },
];

export const task: TaskView = {
  id: 1,
  state: 'parked',
  address: 'https://api.example/equipment/1',
  organizationId: '4712',
  kind: 'equipment',
  resourceId: '1',
  generation: 2,
  attempts: 1,
  dueAt: at,
  code: 'terms',
  detail: null,
};

export const entry: QuarantineView = {
  id: 'q1',
  what: 'notification',
  reason: 'malformed-notification',
  path: '/targetResource',
  detail: null,
  organizationId: null,
  address: null,
  deliveryId: 'd1',
  at,
  state: 'waiting',
  raw: '{"eventTypeId":"heartbeat"}',
};

export const alert: Alert = {
  fingerprint: 'f',
  name: 'TramlineTermsRequired',
  severity: 'warning',
  state: 'firing',
  labels: { organization_id: '4712' },
  annotations: {
    summary: 'Terms must be accepted.',
    first_step: 'Send the organization the address where terms are accepted.',
    action_url: 'https://provider.example/terms',
  },
  startsAtMs: Date.parse(at),
  resolvedAtMs: null,
  quietSinceMs: null,
  returns: 0,
  coversUntilMs: null,
  sent: {},
};

export function publishedEvent(position: number, organizationId = '4711'): PublishedEvent {
  const key = `${organizationId}/equipment/${position}`;
  const value = JSON.stringify({ id: String(position), organizationId, observedAt: at, source: {} });
  const record = completeRecord(
    {
      kind: 'equipment',
      key,
      sequence: 1,
      change: 'created',
      contentHash: 'h',
      value,
      observedAt: at,
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      reconciled: position % 2 === 0,
    },
    { source: 'https://api.example/vendor', topicPrefix: 'tramline', recordBytesMax: 1e6 },
  );
  return { position, record, topic: record.topic, partition: 3, offset: '17', damaged: null };
}

/** Judges kept bytes: only a heartbeat can be used. */
export const rejudge: ApiDoors['rejudge'] = (raw) => {
  if (!raw.startsWith('{')) return null;
  return raw.includes('heartbeat')
    ? { line: 'acted', eventTypeId: 'heartbeat', probeOrganizationId: null, dueAt: null }
    : { line: 'quarantined', reason: 'malformed-notification', path: '', raw };
};

export const connection: ConnectionView = {
  id: 'c1',
  user: 'ann',
  auth: 'oauth2',
  status: 'valid',
  expiresAt: at,
  renews: true,
  organizations: ['4711', '4712'],
};

export const consent: ConsentView = {
  id: 'a-consent',
  auth: 'oauth2',
  step: 'link',
  address: null,
  expiresAt: at,
  code: null,
  detail: null,
  connection: null,
  unseen: [],
};

export interface SampleStore {
  connections: ConnectionsApi;
  /** What asking for a consent comes to, one after the other; the last one stays. */
  consents: ConsentView[];
  /** What was asked of connections. */
  asked: unknown[];
  store: ApiDoors['store'] & Pick<Store, 'listAlerts'>;
  /** By when each organization was announced to act; null: nothing is said of that. */
  announced: string[] | null;
  /** For how long nobody evaluates alerts. */
  unattendedMs: number;
  /** Positions up to this are no longer kept. */
  floor: number;
  /** What every verb throws; null while the store answers. */
  failure: Error | null;
  events: PublishedEvent[];
  /** How many of them a page holds at most. */
  eventsMax: number;
  entries: QuarantineView[];
  forget(id: string): Forgotten;
  forgotten: string[];
  /** Which organizations each connection sees. */
  seeing: Pick<SealedConnection, 'connectionId' | 'organizations'>[];
}

export function makeSampleStore(): SampleStore {
  const sample: SampleStore = {
    connections: {
      list: async ({ after, limit }) =>
        answer([connection].filter(({ id }) => after === null || id > after).slice(0, limit)),
      async revoke(id) {
        if (id !== connection.id) throw new Problem('command.not-found', 'there is no such connection');
        return answer({ id, state: 'revoked' as const, atProvider: true, subscriptions: ['s1', 's2'] });
      },
      async ask(wanted) {
        sample.asked.push(wanted);
        return answer({ ...consent, address: 'https://tramline.example/connect?link=one' });
      },
      async consent(id) {
        if (id !== consent.id) throw new Problem('command.not-found', 'there is no such consent');
        return answer(
          (sample.consents.length > 1 ? sample.consents.shift() : sample.consents[0]) as ConsentView,
        );
      },
      async answer(id, carried) {
        if (id !== consent.id) throw new Problem('command.not-found', 'no consent waits for this answer');
        sample.asked.push(carried);
        return answer({ ...consent, step: 'done' as const, connection });
      },
    },
    consents: [consent, { ...consent, step: 'done', connection }],
    asked: [],
    announced: null,
    unattendedMs: 0,
    floor: 0,
    failure: null,
    events: [1, 2, 3].map((position) => publishedEvent(position, position === 3 ? '4712' : '4711')),
    eventsMax: 1000,
    entries: [entry, { ...entry, id: 'q2', what: 'delivery', reason: 'unauthenticated' }],
    forget(id) {
      sample.forgotten.push(id);
      const found = { cause: 'not-connected', actionUrl: null, message: null } as const;
      const observation = { organizationId: id, epoch: 1, found, by: 'operator' } as const;
      return { observation, transition: transition({}, observation, 0), discarded: 3 };
    },
    forgotten: [],
    seeing: [
      { connectionId: 'c1', organizations: ['4712'] },
      { connectionId: 'c2', organizations: ['4711', '4712', '5000'] },
    ],
    store: {
      listConnections: async () => answer(sample.seeing as SealedConnection[]),
      accessHistory: async (id) => answer(id === '4712' ? history : []),
      listOrganizations: async ({ limit, after }) =>
        answer(organizations.filter(({ id }) => after === null || id > after).slice(0, limit)),
      findOrganization: async (id) => {
        const found = organizations.find((known) => known.id === id);
        const { announced } = sample;
        return answer(
          found === undefined ? null : { ...found, ...(announced === null ? {} : { announced }) },
        );
      },
      listTasks: async ({ state, after, limit }) =>
        answer(
          [task]
            .filter(({ id, state: is }) => id > after && (state === null || is === state))
            .slice(0, limit),
        ),
      listQuarantine: async ({ limit, after }) =>
        answer(sample.entries.filter(({ id }) => after === null || id > after).slice(0, limit)),
      showQuarantine: async (id) => answer(sample.entries.find((candidate) => candidate.id === id) ?? null),
      releaseQuarantine: async (id) => settle(id, 'released'),
      rejudge: async (id, element) =>
        element.line === 'quarantined' ? answer('refused') : settle(id, 'released'),
      discardQuarantine: async (id) => (await settle(id, 'discarded')) as 'discarded' | 'not-found',
      listEvents: async ({ after, limit, type, organizationId }) =>
        answer({
          floor: sample.floor,
          last: sample.events.at(-1)?.position ?? 0,
          events: sample.events
            .filter(({ position }) => position > after)
            .filter(({ record }) => organizationId === null || record.key.startsWith(`${organizationId}/`))
            .filter(({ record }) => type === null || record.headers.some(([, value]) => value === type))
            .slice(0, Math.min(limit, sample.eventsMax)),
        }),
      listAlerts: async () => answer([alert]),
      explain: async (of) =>
        answer(
          of === 'd1'
            ? { of, what: 'delivery', steps: [{ at, step: 'accepted', text: 'Stored.', elements: 1 }] }
            : of === 'd7'
              ? { of, what: 'delivery', steps: parkedSteps }
              : of === 'd8'
                ? { of, what: 'delivery', steps: forgottenSteps }
                : null,
        ),
      ledger: async () => answer({ ...emptyLedger(), accepted: 9, published: 5, merged: 3, parked: 1 }),
    },
  };
  function answer<Value>(value: Value): Value {
    if (sample.failure !== null) throw sample.failure;
    return value;
  }
  async function settle<State extends 'released' | 'discarded'>(id: string, state: State) {
    const found = sample.entries.find((candidate) => candidate.id === id && candidate.state === 'waiting');
    if (answer(found) === undefined) return 'not-found' as const;
    if (state === 'released' && found?.reason === 'unauthenticated') return 'refused' as const;
    sample.entries = sample.entries.map((other) => (other === found ? { ...other, state } : other));
    return state;
  }
  return sample;
}
