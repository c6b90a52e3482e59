/**
 * What the text of two addresses says of one resource. Where they differ in the last part of their paths alone, they are
 * most often of two resources in one list, and one may have become the other's by a wrong answer.
 */

/** Is the last part of its path this id? */
export function isCalled(address: string, id: string): boolean {
  const { name } = divided(address);
  return name === id || name === encodeURIComponent(id);
}

/** The address that this id has in the same list. */
export function besideIt(address: string, id: string): string {
  return `${divided(address).list}${encodeURIComponent(id)}`;
}

/**
 * Where a task is read next that a hint names by this address: where that says, if it stands beside the task's own. What
 * waits to be read under another name than its id stays so: that read tells whose address it is, and the other covers nothing
 * of what it announced.
 */
export function addressHinted(
  task: { address: string; resource_id: string | null },
  waits: boolean,
  named: string,
): string {
  const { address, resource_id: id } = task;
  if (id === null || !standBeside(address, named)) return address;
  return waits && !isCalled(address, id) ? address : named;
}

/** The address of a resource that was read at `shown`: one that a hint has named since is not forgotten. */
export function addressShown(
  resource: { address: string; state: string },
  hinted: boolean,
  shown: string,
): string {
  const waits = hinted || resource.state === 'due' || resource.state === 'postponed';
  return waits && standBeside(resource.address, shown) ? resource.address : shown;
}

function standBeside(one: string, other: string): boolean {
  const [left, right] = [divided(one), divided(other)];
  return left.list === right.list && left.name !== right.name;
}

/** A path without its last part, which ends in `/`, and that part. */
function divided(address: string): { list: string; name: string } {
  const [path = ''] = address.split(/[?#]/, 1);
  const from = path.lastIndexOf('/') + 1;
  return { list: path.slice(0, from), name: path.slice(from) };
}
