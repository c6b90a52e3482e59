/**
 * The shape of every answer of our own API, as far as commands rely on it: another program may listen where the service
 * is looked for. The types of the API hold the list complete. Words are not compared with those that this version knows:
 * a later service may say more, and whatever else it says stays. One that runs since before an update may say less: what
 * has come to an answer since the version before reads as it was meant then. Shapes only.
 */
import { z } from 'zod';
import type {
  AlertTestLine,
  AlertView,
  Api,
  CheckLine,
  ConfigView,
  DecidedEntry,
  Journey,
  LedgerView,
} from '../model/api';
import type { ConnectionsApi, ConnectionView, ConsentView } from '../model/consent';
import type { QuarantineView, TaskView } from '../model/inspection';
import type { AccessChange, ForgottenView, OrganizationView } from '../model/organization';
import type { AcceptedView, DocumentView, FileView, Listed, ReferenceView } from '../model/provider-data';
import type { ReplayRefusal, ReplayView } from '../model/replay';
import type { SandboxView } from '../model/sandbox';
import type { DeliveryView, SubscriptionView } from '../model/subscription';
import type { SyncView } from '../model/sync';

/** What `schemaFaultOf` judges an answer by. */
export type Shape<Answer> = z.ZodType<Answer>;

const text = z.string();
const number = z.number();
const truth = z.boolean();
const textOrNull = text.nullable();
const texts = z.array(text);

/** One of several words. */
const word = <Word extends string>() => text as unknown as Shape<Word>;

const connection: Shape<ConnectionView> = z.looseObject({
  id: text,
  user: text,
  auth: word<ConnectionView['auth']>(),
  status: word<ConnectionView['status']>(),
  expiresAt: textOrNull,
  renews: truth,
  organizations: texts,
  unlisted: text.exactOptional(),
});

const accessChange: Shape<AccessChange> = z.looseObject({
  nth: number,
  at: text,
  from: word<AccessChange['from']>(),
  to: word<AccessChange['to']>(),
  by: word<AccessChange['by']>(),
  askedBy: word<NonNullable<AccessChange['askedBy']>>().nullable(),
  cause: word<NonNullable<AccessChange['cause']>>().nullable(),
  actionUrl: textOrNull,
  message: textOrNull,
});

const organization: Shape<OrganizationView> = z.looseObject({
  id: text,
  name: textOrNull,
  access: word<OrganizationView['access']>(),
  since: textOrNull,
  reason: textOrNull,
  message: textOrNull,
  actionUrl: textOrNull,
  parked: number,
  connection: textOrNull,
  concerns: truth,
  forgotten: truth,
  seen: truth.default(true),
  manageUrl: textOrNull.exactOptional(),
  announced: texts.exactOptional(),
  probed: textOrNull.exactOptional(),
  history: z.array(accessChange).exactOptional(),
});

const forgotten: Shape<ForgottenView> = z.looseObject({
  id: text,
  state: word<ForgottenView['state']>(),
  discarded: number,
  ended: truth,
  revoked: z.array(
    z.looseObject({ connection: text, atProvider: truth, subscriptions: texts.exactOptional() }),
  ),
  seenBy: texts,
});

const task: Shape<TaskView> = z.looseObject({
  id: number,
  state: word<TaskView['state']>(),
  address: text,
  organizationId: textOrNull,
  kind: textOrNull,
  resourceId: textOrNull,
  generation: number,
  attempts: number,
  dueAt: textOrNull,
  code: textOrNull,
  detail: textOrNull,
});

const quarantined: Shape<QuarantineView> = z.looseObject({
  id: text,
  what: word<QuarantineView['what']>(),
  reason: word<QuarantineView['reason']>(),
  path: text,
  detail: textOrNull,
  organizationId: textOrNull,
  address: textOrNull,
  deliveryId: textOrNull,
  at: text,
  state: word<QuarantineView['state']>(),
  raw: textOrNull,
});

const decided: Shape<DecidedEntry> = z.looseObject({ id: text, state: word<DecidedEntry['state']>() });

/** A damaged one says so in the place of its time and source. */
const event = z
  .looseObject({
    specversion: text,
    id: text,
    type: text,
    subject: text,
    position: number,
    topic: text,
    partition: number.nullable(),
    offset: textOrNull,
    data: z.unknown(),
  })
  .and(
    z.union([z.looseObject({ source: text, time: text }), z.looseObject({ damaged: text })]),
  ) as unknown as Shape<Awaited<ReturnType<Api['events']>>[number]>;

const alert: Shape<AlertView> = z.looseObject({
  name: text,
  severity: word<AlertView['severity']>(),
  state: word<AlertView['state']>(),
  since: text,
  resolvedAt: textOrNull,
  labels: z.record(text, text),
  annotations: z.record(text, text),
  notTold: texts.exactOptional(),
});

const alertTest: Shape<AlertTestLine> = z.looseObject({
  sink: word<AlertTestLine['sink']>(),
  instance: text.exactOptional(),
  outcome: word<AlertTestLine['outcome']>(),
  status: number.nullable(),
  detail: text,
});

const journey: Shape<Journey> = z.looseObject({
  of: text,
  what: word<Journey['what']>(),
  steps: z.array(z.looseObject({ at: text, step: text, text })),
});

const ledger: Shape<LedgerView> = z.looseObject({
  accepted: number,
  published: number,
  merged: number,
  unchanged: number,
  gone: number,
  acted: number,
  ignored: number,
  parked: number,
  quarantined: number,
  discarded: number,
  waiting: number,
  lost: number,
});

const checkLine: Shape<CheckLine> = z.looseObject({
  name: word<CheckLine['name']>(),
  state: word<CheckLine['state']>(),
  detail: text,
  next: textOrNull,
});

const config: Shape<ConfigView> = z.record(
  text,
  z.looseObject({ value: z.unknown(), from: text, path: text.exactOptional() }),
);

const sync: Shape<SyncView> = z.looseObject({
  state: word<SyncView['state']>(),
  run: number.nullable(),
  organizationId: textOrNull,
  full: truth,
  resumed: truth,
  startedAt: textOrNull,
  tookMs: number,
  listed: number,
  changed: number,
  unchanged: number,
  published: number,
  left: number,
  pages: number,
  calls: number,
  organizations: z.looseObject({ done: number, known: number }),
  listings: z.looseObject({ done: number, read: number, known: number, total: number.nullable() }),
  skipped: z.array(z.looseObject({ id: text, access: text })),
  partial: z.array(z.looseObject({ scope: text, detail: text })),
  trouble: word<SyncView['trouble']>(),
  waitsUntil: textOrNull,
  reason: textOrNull,
});

const replay: Shape<ReplayView> = z.looseObject({
  state: word<ReplayView['state']>(),
  how: word<ReplayView['how']>(),
  toTopic: textOrNull,
  dryRun: truth,
  resumed: truth,
  leftAt: textOrNull.default(null),
  replayedBefore: number.default(0),
  earlierUnsent: number.default(0),
  refused: z
    .array(
      z.looseObject({
        reason: word<ReplayRefusal['reason']>(),
        records: number,
        events: texts.default([]),
      }),
    )
    .default([]),
  waiting: number.default(0),
  selected: number,
  keys: number,
  replayed: number,
  unknown: texts.default([]),
  calls: number,
  parked: number.default(0),
  forgotten: number.default(0),
  callsLeft: number.nullable(),
  startedAt: textOrNull.default(null),
  tookMs: number,
  reason: textOrNull,
});

const sandbox: Shape<SandboxView> = z.looseObject({
  plan: word<SandboxView['plan']>(),
  limits: z.array(
    z.looseObject({
      limit: word<SandboxView['limits'][number]['limit']>(),
      used: number,
      most: number,
      left: number,
      detail: text,
    }),
  ),
});

const consent: Shape<ConsentView> = z.looseObject({
  id: text,
  auth: word<ConsentView['auth']>(),
  step: word<ConsentView['step']>(),
  address: textOrNull,
  expiresAt: text,
  code: word<NonNullable<ConsentView['code']>>().nullable(),
  detail: textOrNull,
  connection: connection.nullable(),
  unseen: texts,
});

type Revoked = Awaited<ReturnType<ConnectionsApi['revoke']>>;
const revoked: Shape<Revoked> = z.looseObject({
  id: text,
  state: word<'revoked'>(),
  atProvider: truth,
  subscriptions: texts.exactOptional(),
});

const subscription: Shape<SubscriptionView> = z.looseObject({ id: text });
const delivery: Shape<DeliveryView> = z.looseObject({});
const document: Shape<DocumentView> = z.looseObject({ id: text, organizationId: text });
const accepted: Shape<AcceptedView> = z.looseObject({
  id: textOrNull,
  organizationId: text,
  visible: z.literal(false),
});
const reference: Shape<ReferenceView> = z.looseObject({ id: text, name: textOrNull });

const file: Shape<FileView> = z.looseObject({
  id: text,
  name: textOrNull,
  type: textOrNull,
  bytes: number.nullable(),
  status: textOrNull,
  createdTime: textOrNull,
  modifiedTime: textOrNull,
  archived: truth.nullable(),
  source: z.looseObject({ address: text, mediaType: text }),
});

/** A line of a listing. */
export const listed = <Item>(item: Shape<Item>): Shape<Listed<Item>> =>
  z.union([
    z.looseObject({ item }),
    z.looseObject({
      fault: z.looseObject({
        code: word<Extract<Listed<Item>, { fault: unknown }>['fault']['code']>(),
        detail: text,
        address: textOrNull,
        organizationId: textOrNull,
        actionUrl: textOrNull,
      }),
    }),
  ]);

export const shapes = {
  organization,
  organizations: z.array(organization),
  forgotten,
  tasks: z.array(task),
  quarantine: z.array(quarantined),
  quarantined,
  released: z.looseObject({ id: text, state: word<'released'>() }),
  discarded: z.looseObject({ id: text, state: word<'discarded'>() }),
  decided: z.array(decided),
  events: z.array(event),
  alerts: z.array(alert),
  alertTests: z.array(alertTest),
  journey,
  ledger,
  check: z.array(checkLine),
  config,
  sync,
  replay,
  sandbox,
  connections: z.array(connection),
  consent,
  revoked,
  subscription,
  delivery,
  document,
  written: z.union([document, accepted]),
  measurements: z.array(z.unknown()),
  reference,
  file,
} satisfies Record<string, z.ZodType>;
