/** A backlog: a receiver takes the notifications, and nobody reads them yet. */
import type { Place } from './place';

const elements = 250;
const connections = 4;

/** So many tasks of distinct resources, in the store that `database` names. */
export async function fillBacklog(
  place: Place,
  database: Record<string, string>,
  tasks: number,
): Promise<void> {
  const receiver = await place.serve({ ...database, ROLE: 'receiver' });
  const generator = await place.generator();
  await generator.burst({
    port: receiver.port,
    authorization: await place.authorization(),
    connections,
    elements,
    deliveries: tasks / elements,
    from: 0,
    distinct: tasks,
  });
  await receiver.stop();
}
