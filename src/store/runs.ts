/**
 * Which run of the sync had a resource read: the last that had begun, of those that could list what is theirs whose the
 * resource was then. Pure.
 */
import { partsOf } from '../model/resource';

export interface RunToTell {
  id: number;
  began_at: number;
  /** null: of all. */
  organization_id: string | null;
}

/** Whose the resource was when these were decided, each once. */
export function organizationsOf(events: { key: string }[]): string[] {
  return [...new Set(events.map(({ key }) => partsOf(key).organizationId))];
}

/** The last that had begun, of all or of one of these organizations; null when it is no longer kept. */
export function runAt(runs: RunToTell[], atMs: number, organizations: string[]): RunToTell | null {
  const isTheirs = ({ organization_id: of }: RunToTell) => of === null || organizations.includes(of);
  return runs.findLast((run) => run.began_at <= atMs && isTheirs(run)) ?? null;
}
