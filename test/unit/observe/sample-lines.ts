// One example of each fact the service tells of itself, so that tests feed every instrument and every line.
import type { SyncEnd } from '../../../src/model/sync';
import type {
  AlertPost,
  Attempt,
  DeliveryAccepted,
  DeliveryRefused,
  Gauges,
  ProviderCall,
  Sent,
} from '../../../src/observe/lines';

export const accepted: DeliveryAccepted = {
  deliveryId: 'd1',
  hints: 3,
  acted: 1,
  ignored: 1,
  quarantined: ['unauthenticated', 'malformed-notification'],
  bytes: 1200,
  tookMs: 4,
  repeated: false,
  idReused: false,
  due: 2,
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
};

export const refused: DeliveryRefused = { status: 401, reason: 'token-wrong', tookMs: 1 };

export const attempt: Attempt = {
  deliveryId: 'd7',
  taskId: 7,
  generation: 3,
  attempt: 1,
  kind: 'equipment',
  resourceId: '42',
  organizationId: '4711',
  connectionId: 'c1',
  address: 'https://user:canary-userinfo@api.example/equipment/42?sig=canary-query#canary-fragment',
  outcome: 'published',
  code: 'created',
  detail: null,
  quarantine: null,
  eventIds: ['e1'],
  calls: 1,
  bytes: 900,
  status: 200,
  tookMs: 12,
  dueInMs: null,
  providerLagMs: 4200,
  traceparent: accepted.traceparent,
};

export const call: ProviderCall = {
  method: 'GET',
  origin: 'https://api.example',
  route: 'equipment',
  status: 200,
  errorType: null,
  tookMs: 8,
  bytes: 900,
  clockOffsetMs: -1500,
  elapsedMs: 42,
};

export const sent: Sent = {
  system: 'kafka',
  topic: 'tramline.equipment.v1',
  count: 2,
  bytes: 2000,
  tookMs: 3,
  errorType: null,
  freshnessMs: [20, 61_000],
};

export const post: AlertPost = {
  sink: 'alertmanager',
  outcome: 'accepted',
  alerts: 1,
  status: 200,
  tookMs: 5,
};

export const syncEnd: SyncEnd = {
  outcome: 'partial',
  run: 7,
  organizationId: null,
  full: false,
  resumed: false,
  tookMs: 1200,
  listed: 25,
  changed: 1,
  unchanged: 24,
  published: 1,
  left: 0,
  pages: 4,
  calls: 4,
  listings: 4,
  skipped: 0,
  partial: 1,
  named: [
    { scope: '4711/equipment', detail: 'page 2: the origin https://b.example is not one of the provider’s' },
  ],
  reason: null,
};

export const gauges: Gauges = {
  ready: async () => {},
  counts: async () => ({
    due: 3,
    waiting: 7,
    parked: 2,
    quarantined: 1,
    unsent: 5,
    oldestWaitingAgeMs: 1500,
    organizations: { active: 9, 'terms-required': 1, 'not-connected': 0, reauthorize: 0 },
  }),
  alerts: async () => ({
    firing: { critical: 0, warning: 1, info: 0 },
    over: [{ name: 'TramlineKafkaUnavailable', ageMs: 2500 }],
    unattendedMs: 7500,
  }),
  syncs: async () => ({ wholeAgeMs: 3_600_000, unread: 2 }),
  endedByFaultMs: async () => 12_500,
  sandboxLeft: () => [{ limit: 'calls', left: 1234 }],
};

/** Of a telemetry that sends no traces. */
export const unexported = {
  service: 'tramline',
  version: '0.0.0',
  instance: 'i1',
  resourceAttributes: null,
  exportTraces: false,
  samplerGiven: false,
};
