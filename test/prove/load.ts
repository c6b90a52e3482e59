// What happens at the provider while things break: changes, notified once, several times or in storms, in deliveries of
// any size, among elements that make no sense; organizations that must accept terms, and do; addresses that move, after
// which some are still announced where they were; resources that are removed. Half of the resources change
// and are announced exactly once, beside what is broken from its beginning to its end, so that nothing later can hide
// the loss of that one notification.
import { setTimeout as delay } from 'node:timers/promises';
import type { Simulator, SimulatorFault } from '../support/simulator';
import type { Block } from './check-pages';
import type { Random } from './random';
import type { Notification, Sender } from './sender';

export type Resource = {
  id: string;
  organizationId: string;
  /** By which it is known here: its first address. */
  uri: string;
  /** All that it had, the last is that of today. */
  addresses: string[];
  kind: 'equipment' | 'fieldOperation';
  content: Record<string, unknown>;
};

const markNames = { equipment: 'name', fieldOperation: 'cropSeason' } as const;

export type Load = {
  /** One small thing happens. */
  step(): Promise<void>;
  /**
   * Something is about to be broken. What has never been announced is announced now: one for each new way of breaking,
   * and as many as keep up with the run, of which `share` in [0, 1] is over.
   */
  tellOnceNear(what: string, share: number): Promise<void>;
  /** What must still happen exactly once happens now; then every organization accepts its terms. */
  finish(): Promise<void>;
  /** Whoever is blocked accepts its terms. */
  acceptAll(): Promise<void>;
  /** Blocks the organization that nothing else blocks, and notifies of something of its. */
  hold(): Promise<void>;
  /** It accepts its terms. */
  release(): Promise<void>;
  /** As soon as may be, all accept their terms but one, which never was blocked and is from then on; nobody else follows. */
  endTerms(): void;
  /** Whether it has been asked for. */
  termsAreEnded(): boolean;
  /** While they are kept nobody is blocked and nobody accepts terms. */
  keepTerms(isKept: boolean): void;
  /** Who was blocked, and until when; null while it lasts. */
  blocks: (Block & { toMs: number | null })[];
  /** By first address, the organizations that a resource ever belonged to. */
  owners: ReadonlyMap<string, ReadonlySet<string>>;
  /** The resources that were announced, by their first address. */
  announced(): Set<string>;
  /** By first address, what tells the contents of a resource apart: first what it was, then each change. */
  marks: ReadonlyMap<string, readonly string[]>;
  /** Those that were changed and announced exactly once, by their first address, and where each was announced. */
  onceOnly: ReadonlyMap<string, string>;
  /** The first address of a resource that has or had this one. */
  firstOf: ReadonlyMap<string, string>;
  /** How often all addresses moved. */
  moves: number;
  /** What was removed, as it was at first; that was announced once. */
  removed: readonly Resource[];
  /** How many of them were announced while things broke: by what was broken, and by quarter of the run. */
  onceNear: Record<string, number>;
  onceByQuarter: number[];
  resources: number;
  changes: number;
};

/** The provider goes on showing the old content for so long after it has said that something changed. */
const lagMs = 300;
export const lagging: SimulatorFault = { match: {}, lagMs };
/** So many are kept for ways of breaking that come late. */
const keptBack = 50;
/** Addresses stay for so long at least: each move has every waiting read look for its resource anew. */
const staysMs = 20_000;
/** In this share of its steps a machine goes to another organization, where any does. */
const ownerMoves = 0.04;
/** One in so many of those that are announced often may be removed, so long after nothing was said of it any more. */
const removedOneIn = 4;
const removedAfterMs = 3000;
/** Of one organization: if twenty went within an hour, the next would be a fault until an operator says otherwise. */
const removedMax = 15;

export async function makeLoad(
  simulator: Simulator,
  sender: Sender,
  random: Random,
  { movesOwners = false }: { movesOwners?: boolean } = {},
): Promise<Load> {
  const state = await simulator.state();
  const resources: Resource[] = [
    ...state.equipment.map((one) => ({ ...one, addresses: [one.uri], kind: 'equipment' as const })),
    ...state.fieldOperations.map((one) => ({
      ...one,
      addresses: [one.uri],
      kind: 'fieldOperation' as const,
    })),
  ];
  const firstOf = new Map(resources.map(({ uri }) => [uri, uri]));
  const onceOnly = new Map<string, string>();
  const removed: Resource[] = [];
  let movedAtMs = Date.now();
  let moves = 0;
  await simulator.setFaults([lagging]);
  const quiet = resources.filter((_, index) => index % 2 === 0);
  const busy = resources.filter((_, index) => index % 2 !== 0);
  const mayGo = busy.filter((_, index) => index % removedOneIn === 0);
  const ofEach = Map.groupBy(mayGo, ({ organizationId }) => organizationId);
  const doomed = [...ofEach.values()].flatMap((those) => those.slice(-removedMax));
  let leaving: { resource: Resource; fromMs: number } | null = null;
  const untold = [...quiet];
  const onceNear: Record<string, number> = {};
  const onceByQuarter = [0, 0, 0, 0];
  const announced = new Set<string>();
  const marks = new Map(resources.map(({ uri, kind, content }) => [uri, [String(content[markNames[kind]])]]));
  const held = random.pick(state.organizations).id;
  const last = random.pick(state.organizations.filter(({ id }) => id !== held)).id;
  const blocks: Load['blocks'] = [];
  const owners = new Map(resources.map(({ uri, organizationId }) => [uri, new Set([organizationId])]));
  let termsAreKept = false;
  let ending: 'to come' | 'wanted' | 'done' = 'to come';
  let changes = 0;

  async function change({ kind, id, uri }: Resource): Promise<void> {
    changes += 1;
    const mark = kind === 'equipment' ? `Name ${changes}` : String(1900 + changes);
    marks.get(uri)!.push(mark);
    const changed = { [markNames[kind]]: mark, notify: false };
    if (kind === 'equipment') await simulator.changeEquipment(id, changed);
    else await simulator.changeFieldOperation(id, changed);
  }

  function notificationOf({ uri, addresses, organizationId, kind }: Resource, at?: string): Notification {
    announced.add(uri);
    return {
      clientKey: 'proof',
      links: [],
      eventTypeId: kind,
      targetResource: at ?? random.pick(addresses),
      metadata: [{ key: 'orgId', value: organizationId }],
    };
  }

  async function tellOnce(count: number): Promise<void> {
    for (const resource of untold.splice(0, count)) {
      await change(resource);
      const at = resource.addresses.at(-1)!;
      onceOnly.set(resource.uri, at);
      sender.send([notificationOf(resource, at)]);
    }
  }

  /** First nothing more is said of it, so that what is still to be read of it cannot find it gone as well. */
  async function remove(): Promise<void> {
    if (leaving === null) {
      const resource = doomed.pop();
      if (resource === undefined) return;
      busy.splice(busy.indexOf(resource), 1);
      leaving = { resource, fromMs: Date.now() + removedAfterMs };
    } else if (Date.now() >= leaving.fromMs) {
      const { resource } = leaving;
      leaving = null;
      await simulator.remove(resource.kind, resource.id);
      removed.push(resource);
      sender.send([notificationOf(resource, resource.addresses.at(-1))]);
    }
  }

  async function move(): Promise<void> {
    if (Date.now() - movedAtMs < staysMs) return;
    movedAtMs = Date.now();
    moves += 1;
    await simulator.moveLinks();
    const { fieldOperations } = await simulator.state();
    const today = new Map(fieldOperations.map(({ id, uri }) => [id, uri]));
    for (const { kind, id, uri, addresses } of resources) {
      const address = kind === 'fieldOperation' ? today.get(id) : undefined;
      if (address === undefined) continue;
      addresses.push(address);
      firstOf.set(address, uri);
    }
  }

  /** A machine goes to another organization, which is announced there, where it stands. */
  async function moveOwner(): Promise<void> {
    const machines = busy.filter((one) => one.kind === 'equipment' && !doomed.includes(one));
    const resource = random.pick(machines);
    const { id } = random.pick(state.organizations);
    resource.organizationId = id;
    owners.get(resource.uri)!.add(id);
    const organization = { '@type': 'Resource', id: Number(id) };
    await simulator.changeEquipment(resource.id, { organization, notify: false });
    sender.send([notificationOf(resource)]);
  }

  async function tellOnceNear(what: string, share: number): Promise<void> {
    const due = Math.floor(share * (quiet.length - keptBack)) - (quiet.length - untold.length);
    const count = Math.min(untold.length, Math.max(due, onceNear[what] === undefined ? 1 : 0));
    if (count === 0) return;
    onceNear[what] = (onceNear[what] ?? 0) + count;
    onceByQuarter[Math.min(3, Math.floor(share * 4))]! += count;
    await tellOnce(count);
  }

  async function tellMany(): Promise<void> {
    const some = Array.from({ length: random.between(1, 12) }, () => random.pick(busy));
    for (const resource of new Set(some)) if (random.chance(0.7)) await change(resource);
    const notifications = some.map((one) => notificationOf(one));
    if (random.chance(0.3))
      notifications.splice(random.between(0, notifications.length), 0, { eventTypeId: 7 });
    if (random.chance(0.2))
      notifications.push({ eventTypeId: 'of-tomorrow', targetResource: `${some[0]!.uri}x` });
    sender.send(notifications);
    if (random.chance(0.3)) sender.send(notifications);
    if (random.chance(0.1)) sender.sendAsStranger(notifications);
  }

  async function storm(): Promise<void> {
    const resource = random.pick(busy);
    await change(resource);
    for (let sent = 0; sent < 3; sent += 1)
      sender.send(Array.from({ length: 30 }, () => notificationOf(resource)));
  }

  /** Something of whoever is blocked is notified of: that is how it is found out. */
  async function block(organizationId: string): Promise<void> {
    const isFirst = blocks.every((one) => one.organizationId !== organizationId);
    const began = { organizationId, fromMs: Date.now(), toMs: null, dueAtMs: null, isFirst };
    blocks.push(began);
    await simulator.setOrganization(organizationId, { termsAccepted: false });
    const resource = random.pick(busy.filter((one) => one.organizationId === organizationId));
    await change(resource);
    sender.send([notificationOf(resource)]);
  }

  async function accept(open: Load['blocks'][number]): Promise<void> {
    open.toMs = Date.now();
    await simulator.setOrganization(open.organizationId, { termsAccepted: true });
  }

  const openOf = (id: string) =>
    blocks.find(({ organizationId, toMs }) => organizationId === id && toMs === null);

  async function turnTerms(): Promise<void> {
    const { id } = random.pick(state.organizations.filter((one) => one.id !== held && one.id !== last));
    if (termsAreKept) return;
    const open = openOf(id);
    if (open === undefined) await block(id);
    else await accept(open);
  }

  async function acceptAll(): Promise<void> {
    for (const open of blocks.filter(({ toMs }) => toMs === null)) await accept(open);
  }

  async function turnLast(): Promise<void> {
    termsAreKept = true;
    ending = 'done';
    await acceptAll();
    await block(last);
  }

  return {
    async step() {
      // Whoever is held stays blocked until it is let go.
      if (ending === 'wanted' && openOf(held) === undefined) await turnLast();
      if (movesOwners && random.chance(ownerMoves)) await moveOwner();
      const what = random.next();
      if (what < 0.8) await tellMany();
      else if (what < 0.88) await storm();
      else if (what < 0.9) await move();
      else if (what < 0.94) await remove();
      else await turnTerms();
    },
    tellOnceNear,
    async finish() {
      await tellOnce(untold.length);
      await acceptAll();
    },
    acceptAll,
    hold: () => block(held),
    release: () => accept(openOf(held)!),
    endTerms: () => {
      if (ending === 'to come') ending = 'wanted';
    },
    termsAreEnded: () => ending !== 'to come',
    keepTerms: (isKept) => {
      termsAreKept = isKept;
    },
    blocks,
    owners,
    announced: () => announced,
    marks,
    onceOnly,
    firstOf,
    removed,
    get moves() {
      return moves;
    },
    onceNear,
    onceByQuarter,
    resources: resources.length,
    get changes() {
      return changes;
    },
  };
}

/** The provider goes on living, but not faster than its deliveries get rid of. */
export async function goOn(mayGoOn: () => boolean, step: () => Promise<void>, sender: Sender): Promise<void> {
  while (mayGoOn()) {
    if (sender.waiting() < 16) await step();
    await delay(100);
  }
}
