/**
 * `tramline parked`: resources that wait for a customer, and what each customer must do.
 */
import type { Command } from 'commander';
import type { Api } from '../model/api';
import { counted } from '../model/counted';
import type { TaskView } from '../model/inspection';
import type { OrganizationView } from '../model/organization';
import { afterNothing } from './alerts';
import { type Action, allPages, type CommandContext, withApi } from './context';
import { exitCodes } from './exit-code';
import { firstRows } from './listing';
import { whatToDo } from './organizations';
import type { Column } from './output';

/** So many steps are told; to find what these are, so many organizations are asked for. */
const toldMax = 3;
const lookedAtMax = 20;

export function registerParked(program: Command, action: Action): void {
  program
    .command('parked')
    .description('resources that wait for a customer')
    .action(action((context) => withApi(context, (api) => run(context, api))));
}

async function run({ output, clock }: CommandContext, api: Api): Promise<number> {
  const tasks = await allPages<TaskView>((page) => api.tasks({ state: 'parked', ...page }));
  if (output.json) {
    output.value(tasks);
    return exitCodes.done;
  }
  if (tasks.length === 0) {
    output.line('Nothing waits for a customer.');
    output.next(await afterNothing(api));
    return exitCodes.done;
  }
  const columns: Column<TaskView>[] = [
    { title: 'ORGANIZATION', of: ({ organizationId }) => organizationId },
    { title: 'KIND', of: ({ kind }) => kind },
    { title: 'ID', of: ({ resourceId }) => resourceId },
    { title: 'ADDRESS', of: ({ address }) => address, gives: 'below' },
  ];
  firstRows(output, tasks, columns, 'tramline parked --json');
  const owners = [...new Set(tasks.map(({ organizationId }) => organizationId))].filter((id) => id !== null);
  output.line('');
  output.line(`${counted(tasks.length, 'resource')} of ${counted(owners.length, 'organization')}`);
  const steps = await stepsOf(owners, api);
  for (const [first, ...others] of steps) output.next(whatToDo(first!, clock.nowMs(), others.length));
  const more = owners.length - steps.flat().length;
  if (more > 0) output.next(`${more} more organizations must act: tramline organizations list`);
  return exitCodes.done;
}

/** One step an organization, or for all that wait for one consent. */
async function stepsOf(owners: string[], api: Api): Promise<OrganizationView[][]> {
  const steps = new Map<string, OrganizationView[]>();
  for (const id of owners.slice(0, lookedAtMax)) {
    const organization = await api.organization(id);
    const { access, connection } = organization;
    const step = access === 'reauthorize' && connection !== null ? `consent ${connection}` : id;
    steps.set(step, [...(steps.get(step) ?? []), organization]);
    if (steps.size === toldMax) break;
  }
  return [...steps.values()];
}
