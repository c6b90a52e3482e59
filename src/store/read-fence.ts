/**
 * Which read decided an event, told by the event's cause: its row in the journal of reads is that of its task and fence.
 * Text only.
 */

/** As an event names the read that decided it. */
export function causeOf(task: number, fence: number): string {
  return `read ${task}/${fence}`;
}

/** null when it was not a read: a page of a listing, or a transition of access. */
export function fenceOf(cause: string): number | null {
  const fence = /^read \d+\/(\d{1,15})$/.exec(cause)?.[1];
  return fence === undefined ? null : Number(fence);
}
