/**
 * Says for people when no process evaluates alerts: where none leads, what is listed as firing may be over, and what holds
 * since is told nobody. It is the alert that Prometheus pages for, and says of it what its rule says. Pure.
 */
import type { ShownAlert } from './api';
import type { Found } from './check';

/** The next worker leads within seconds of the last one's lease: that is no gap yet. */
const handoverMs = 10_000;

const step = 'Start a worker: `tramline serve` with ROLE=worker or all.';

const name = 'TramlineWorkersAbsent';

/** What of the settings its texts name. */
export interface UnattendedOptions {
  /** Where runbooks are published, without a slash at the end. */
  runbookBase: string;
  journalDays: number;
}

/** What nobody evaluates as an alert of its own; null while somebody does. `freeMs`: since when no process leads, null: none ever did. */
export function unattendedAlert(
  freeMs: number | null,
  nowMs: number,
  { runbookBase, journalDays }: UnattendedOptions,
): ShownAlert | null {
  if (freeMs === null || freeMs <= handoverMs) return null;
  const startsAtMs = nowMs - freeMs;
  const since = new Date(startsAtMs).toISOString();
  return {
    name,
    severity: 'critical',
    state: 'firing',
    startsAtMs,
    resolvedAtMs: null,
    labels: {},
    annotations: {
      summary: 'No worker runs: nothing is read or published, and no alert of the service is kept up.',
      description: `No process evaluates alerts since ${since}: no worker runs. What else stands here is as it was then; nobody is told of what is new, nor of what is over.`,
      owner: 'on-call',
      until_when: `\`JOURNAL_DAYS\` (${journalDays}) after it was accepted; until then everything that waits is kept one by one`,
      first_step: step,
      runbook_url: `${runbookBase}/${name}.md`,
    },
    notTold: [],
  };
}

/** The same as a line of a check. */
export function attendance(freeMs: number | null, nowMs: number): Found {
  if (freeMs === null) return { detail: 'no worker has evaluated them yet', next: null };
  if (freeMs <= handoverMs) return { detail: 'a worker evaluates them', next: null };
  const since = new Date(nowMs - freeMs).toISOString();
  return { detail: `nobody evaluates them since ${since}: no worker runs`, next: step };
}
