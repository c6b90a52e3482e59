/**
 * The story in its order: a change becomes an event; a hundred notices of it become one read and no event; terms block an
 * organization, on-call is paged once and its work waits; the customer accepts, the work drains, the alert resolves. It
 * only moves the provider and tells what the service then shows.
 */
import type { Alert } from '../model/alert';
import type { OrganizationView } from '../model/organization';
import type { Ledger } from '../model/store';
import type { StructuredEvent } from '../operations/structured-event';
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

/** A page as the sink got it. */
export interface Page {
  alert: Alert;
  text: string;
}

export interface Scene {
  stage: Stage;
  teller: Teller;
  /** Resolves with the next page that the sink gets. */
  nextPage(): Promise<Page>;
}

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
      'Tramline stores it, answers 204 once it is on disk, reads the resource through a signed request and decides the event once.',
  );
  await stage.control('PATCH', `equipment/${machine.id}`, { name: 'Harvester North' });
  const [event] = await stage.until<StructuredEvent[]>(
    '/api/events',
    (events) => events.length >= 1,
    'the event of the renamed machine',
  );
  teller.say('The published event, in full:');
  teller.show(JSON.stringify(event, null, 2));
}

async function stormIsOneRead({ stage, teller }: Scene, world: World): Promise<void> {
  const machine = world.equipment[0]!;
  teller.step('The same change is announced a hundred times more');
  const before = await readsOf(stage, machine.uri);
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
    (ledger) => ledger.accepted >= 101 && ledger.waiting === 0,
    'the hundred notifications',
  );
  await stage.until<unknown[]>(
    '/api/tasks?state=settling',
    (tasks) => tasks.length === 0,
    'the settling reads',
  );
  const reads = (await readsOf(stage, machine.uri)) - before;
  const events = await stage.ask<StructuredEvent[]>('/api/events');
  teller.say(
    `A hundred hints were accepted and collapsed into one task: ${reads} reads, one of them the look again that a lagging ` +
      `provider gets. The content was the same, so nothing was published: the log holds ${count(events.length, 'event')} as before.`,
  );
}

async function termsBlock({ stage, teller, nextPage }: Scene, world: World): Promise<void> {
  const farm = world.organizations[0]!;
  const machines = ofOrganization(world, farm.id).slice(1, 5);
  teller.step(`${farm.name} has new terms to accept, and four of its machines change`);
  const paged = nextPage();
  await stage.control('PATCH', `organizations/${farm.id}`, { termsAccepted: false });
  for (const { id } of machines) await stage.control('PATCH', `equipment/${id}`, { name: `Machine ${id}` });
  await stage.until<OrganizationView[]>(
    '/api/organizations',
    (organizations) => organizations.some(({ id, parked }) => id === farm.id && parked === machines.length),
    'the parked work',
  );
  teller.say(
    'The provider answers 403 for everything of this organization until a person there accepts. Its work is parked: not ' +
      'retried, not lost. The other organizations go on. On-call is paged once, with who must act and where:',
  );
  teller.page((await paged).text);
}

async function acceptanceDrains({ stage, teller, nextPage }: Scene, world: World): Promise<void> {
  const farm = world.organizations[0]!;
  teller.step('The customer accepts the terms');
  const resolved = nextPage();
  await stage.control('PATCH', `organizations/${farm.id}`, { termsAccepted: true });
  await stage.until<OrganizationView[]>(
    '/api/organizations',
    (organizations) => organizations.every(({ access, parked }) => access === 'active' && parked === 0),
    'the acceptance',
  );
  const ledger = await stage.until<Ledger>('/api/ledger', ({ waiting }) => waiting === 0, 'the drained work');
  teller.say(
    `A probe noticed it by itself. The parked work drained, one task first, then two, then four; ` +
      `${count(ledger.published, 'notification')} ended as published events by now. The alert resolves:`,
  );
  teller.page((await resolved).text);
}

function ofOrganization(world: World, id: string): Resource[] {
  return world.equipment.filter(({ organizationId }) => organizationId === id);
}

async function readsOf(stage: Stage, uri: string): Promise<number> {
  const { pathname } = new URL(uri);
  const requests = await stage.control<{ path: string }[]>('GET', 'requests');
  return requests.filter(({ path }) => path.split('?')[0] === pathname).length;
}

export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
