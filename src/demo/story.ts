/**
 * The story in its order: a change becomes an event; a hundred notices of it become one read and no event; terms block an
 * organization, on-call is paged once and its work waits; the customer accepts, the work drains, the alert resolves. It
 * only moves the provider and tells what the service then shows.
 */

import type { StructuredEvent } from '../model/api';
import { counted } from '../model/counted';
import type { Ledger } from '../model/ledger';
import type { OrganizationView } from '../model/organization';
import type { Pager } from './pager';
import type { Stage } from './stage';
import type { Teller } from './tell';

interface Resource {
  id: string;
  organizationId: string;
  uri: string;
  content: Record<string, unknown>;
}

export interface World {
  organizations: { id: string; name: string }[];
  equipment: Resource[];
  fieldOperations: Resource[];
}

export interface Scene {
  stage: Stage;
  teller: Teller;
  pager: Pick<Pager, 'next' | 'count'>;
}

/** The page of this story. */
export const termsPage = 'TramlineTermsRequired';

/**
 * Plays the story once, from the first change to the end of the block. Rejects when something promised does not happen
 * in time.
 */
export async function tellStory(scene: Scene): Promise<void> {
  const world = await scene.stage.control<World>('GET', 'state');
  await changeBecomesEvent(scene, world);
  await stormIsOneRead(scene, world);
  await termsBlock(scene, world);
  await acceptanceDrains(scene, world);
}

async function changeBecomesEvent({ stage, teller }: Scene, world: World): Promise<void> {
  const machine = world.equipment[0]!;
  teller.step('A machine is renamed at the provider');
  teller.say(
    'The provider does not say what changed, only which resource: a notification has no id, no time and no data. ' +
      'Tramline stores it, answers 204 once it is on disk, reads the resource through an authorized request and decides the event once.',
  );
  const created = await renamed(stage, machine, 'Harvester North', 1);
  teller.say(
    `It became ${headline(created)}: nothing was known of the machine before, so it is its first event, and \`data.name\` is ` +
      `“${nameIn(created)}”.`,
  );
  const updated = await renamed(stage, machine, 'Harvester South', 2);
  teller.say(
    `It is renamed again. This time it became ${headline(updated)}, and \`data.name\` is “${nameIn(updated)}”. The ` +
      'published event, in full:',
  );
  teller.show(JSON.stringify(updated, null, 2));
}

/** The event that the renaming became, once that many are published. */
async function renamed(stage: Stage, machine: Resource, name: string, nth: number): Promise<StructuredEvent> {
  await stage.control('PATCH', `equipment/${machine.id}`, { name });
  const enough = (events: StructuredEvent[]) => events.length >= nth;
  const events = await stage.until('/api/events', enough, 'the event of the renamed machine');
  return events[nth - 1]!;
}

function headline({ type, subject, sequence }: StructuredEvent): string {
  return `\`${type}\` of \`${subject}\` with sequence ${Number(sequence)}`;
}

function nameIn({ data }: StructuredEvent): string {
  return String((data as { name?: unknown }).name);
}

async function stormIsOneRead({ stage, teller }: Scene, world: World): Promise<void> {
  const machine = world.equipment[0]!;
  teller.step('The same change is announced a hundred times more');
  const before = await readsOf(stage, [machine]);
  const eventsBefore = (await stage.ask<StructuredEvent[]>('/api/events')).length;
  await stage.control('POST', 'notify', {
    notification: {
      eventTypeId: 'equipment',
      targetResource: machine.uri,
      metadata: [{ key: 'orgId', value: machine.organizationId }],
    },
    times: 100,
  });
  await stage.until<Ledger>(
    '/api/ledger',
    (ledger) => ledger.accepted >= 102 && ledger.waiting === 0,
    'the hundred notifications',
  );
  // A read that is under way when the terms are withdrawn would be parked with the work of the next step.
  await stage.until<{ state: string }[]>(
    '/api/tasks',
    (tasks) => tasks.every(({ state }) => state === 'done'),
    'the settling reads',
  );
  const reads = (await readsOf(stage, [machine])) - before;
  const events = await stage.ask<StructuredEvent[]>('/api/events');
  teller.say(
    `A hundred hints were accepted and collapsed into one task, which was read ${times(reads)}: also once more a little ` +
      'later, since a provider’s answers may lag. The content was the same: the log held ' +
      `${counted(eventsBefore, 'event')} before and holds ${counted(events.length, 'event')} now.`,
  );
}

async function termsBlock({ stage, teller, pager }: Scene, world: World): Promise<void> {
  const farm = world.organizations[0]!;
  const machines = parkedLater(world);
  teller.step(`${farm.name} has new terms to accept, and four of its machines change`);
  const paged = pager.next();
  await stage.control('PATCH', `organizations/${farm.id}`, { termsAccepted: false });
  for (const { id } of machines) await stage.control('PATCH', `equipment/${id}`, { name: `Machine ${id}` });
  await stage.until<OrganizationView[]>(
    '/api/organizations',
    (organizations) => organizations.some(({ id, parked }) => id === farm.id && parked === machines.length),
    'the parked work',
  );
  const page = await paged;
  teller.say(
    'The provider answers 403 for everything of this organization until a person there accepts. Its work is parked: not ' +
      `retried, not lost. On-call got ${counted(pager.count(termsPage, 'firing'), 'page')}, with who must act and where:`,
  );
  teller.page(page.text);
  await neighbourGoesOn(stage, teller, world);
}

async function neighbourGoesOn(stage: Stage, teller: Teller, world: World): Promise<void> {
  const neighbour = world.organizations[1]!;
  const machine = ofOrganization(world, neighbour.id)[0]!;
  await stage.control('PATCH', `equipment/${machine.id}`, { name: 'Baler East' });
  const ofMachine = ({ subject }: StructuredEvent) => subject === `${neighbour.id}/equipment/${machine.id}`;
  const events = await stage.until<StructuredEvent[]>(
    '/api/events',
    (found) => found.some(ofMachine),
    'the event of another organization',
  );
  const event = events.find(ofMachine)!;
  teller.say(
    `The other organizations go on: meanwhile a machine of ${neighbour.name} was renamed, and became ${headline(event)}, ` +
      `where \`data.name\` is “${nameIn(event)}”.`,
  );
}

async function acceptanceDrains({ stage, teller, pager }: Scene, world: World): Promise<void> {
  const farm = world.organizations[0]!;
  teller.step('The customer accepts the terms');
  const waiting = parkedLater(world);
  const before = await readsOf(stage, waiting);
  const resolved = pager.next();
  await stage.control('PATCH', `organizations/${farm.id}`, { termsAccepted: true });
  await stage.until<OrganizationView[]>(
    '/api/organizations',
    (organizations) => organizations.every(({ access, parked }) => access === 'active' && parked === 0),
    'the acceptance',
  );
  const ledger = await stage.until<Ledger>('/api/ledger', (told) => told.waiting === 0, 'the drained work');
  const reads = await readsOf(stage, waiting);
  const page = await resolved;
  teller.say(
    `A probe noticed it by itself, and the ${waiting.length} parked machines were read: ` +
      `${counted(reads - before, 'read')} since the acceptance. ` +
      `${counted(ledger.published, 'notification')} ended as published events by now. The alert resolves, with ` +
      `${counted(pager.count(termsPage, 'resolved'), 'page')}:`,
  );
  teller.page(page.text);
}

/** Machines of the first organization that change while it is blocked. */
function parkedLater(world: World): Resource[] {
  return ofOrganization(world, world.organizations[0]!.id).slice(1, 5);
}

function ofOrganization(world: World, id: string): Resource[] {
  return world.equipment.filter(({ organizationId }) => organizationId === id);
}

async function readsOf(stage: Stage, resources: Resource[]): Promise<number> {
  const paths = new Set(resources.map(({ uri }) => new URL(uri).pathname));
  const requests = await stage.control<{ path: string }[]>('GET', 'requests');
  return requests.filter(({ path }) => paths.has(path.split('?')[0]!)).length;
}

function times(number: number): string {
  return number === 1 ? 'once' : `${number} times`;
}
