// Holds what on-call was told against the organizations that were blocked: each that the driver waited for was told of,
// was open then, as one incident, and where it had never been blocked before, with one start, which is not before the
// block. Pure.
import type { Post } from './on-call';

/** An organization that must accept terms, in milliseconds since the epoch. */
export type Block = {
  organizationId: string;
  fromMs: number;
  /** Until when on-call was given time to be told, while nothing was broken; null where the driver did not wait. */
  dueAtMs: number | null;
  /** It had never been blocked before: no incident of former times can go on in this one. */
  isFirst: boolean;
};

/** The name on-call has for it. */
export const pageOf = ({ organizationId }: Pick<Block, 'organizationId'>): string =>
  `TramlineTermsRequired ${organizationId}`;

/** What is wrong with each, in words; empty when on-call knew of all of them. */
export function checkPages(blocks: Block[], posts: Post[]): string[] {
  return blocks.flatMap((block) => (block.dueAtMs === null ? [] : wrongWith(block, block.dueAtMs, posts)));
}

function wrongWith(block: Block, dueAtMs: number, posts: Post[]): string[] {
  const page = pageOf(block);
  const ofPage = posts.filter(({ name, atMs }) => name === page && atMs <= dueAtMs);
  const since = ofPage.filter(({ atMs }) => atMs >= block.fromMs);
  // An incident of former times that was still open goes on in this one, also when nothing new is told of it so soon.
  const standing = ofPage.filter(({ atMs }) => atMs < block.fromMs).slice(-1);
  const told = since.length > 0 ? since : standing.filter(({ endsAtMs }) => endsAtMs > block.fromMs);
  const firing = told.filter(({ endsAtMs, atMs }) => endsAtMs > atMs);
  if (firing.length === 0) return [`${page} was due for ${dueAtMs - block.fromMs} ms and never paged`];
  const wrong: string[] = [];
  if (told.at(-1)!.endsAtMs <= dueAtMs) wrong.push(`${page} was due and no longer open`);
  const incidents = new Set(firing.map(({ labels }) => labels)).size;
  if (incidents > 1) wrong.push(`${page} was open as ${incidents} incidents at once`);
  const starts = [...new Set(firing.map(({ startsAtMs }) => startsAtMs))];
  if (block.isFirst && starts.length > 1) wrong.push(`${page} was paged with ${starts.length} starts`);
  if (block.isFirst && starts.some((startMs) => startMs < block.fromMs))
    wrong.push(`${page} is told to have begun before it did`);
  return wrong;
}
