// Holds what is left when all is quiet against what may be left: nothing that is still to be read or to be sent, nobody who
// complained, and no more memory, files or pages than there should be. Pure.
import type { Row } from '../support/evidence';
import type { Finding, PrintedLines, ProofEvidence } from './check';

export const restMsMax = 60_000;
export const residentBytesMax = 400 * 1024 * 1024;
/** Connections to the provider, to brokers, to the store and to whoever looks are opened as they are needed. */
export const moreFilesMax = 192;

/** What a process holds at rest, how it ended and what it said, who is still told of what, and what was never finished. */
export function checkRest(evidence: ProofEvidence): Finding[] {
  return [...checkSent(evidence), ...checkQuiet(evidence, restMsMax)];
}

export type QuietEvidence = Pick<
  ProofEvidence,
  | 'complaints'
  | 'tables'
  | 'logs'
  | 'strangersLet'
  | 'unexplained503'
  | 'openPages'
  | 'expectedPages'
  | 'postsOf'
  | 'states'
  | 'restAfterMs'
  | 'residentBytes'
  | 'files'
>;

/** The same without the records, where rest may take so long. */
export function checkQuiet(evidence: QuietEvidence, withinMs: number): Finding[] {
  const found: Finding[] = [
    ...evidence.complaints.map((text): Finding => ({ kind: 'end', text })),
    ...checkTasks(evidence),
    ...checkLogs(evidence.logs),
  ];
  if (evidence.strangersLet > 0) {
    found.push({ kind: 'stranger', text: `${evidence.strangersLet} deliveries of a stranger were accepted` });
  }
  if (evidence.unexplained503 > 0) {
    found.push({ kind: 'dishonest', text: `${evidence.unexplained503} answers of 503 had no Retry-After` });
  }
  const [open, expected] = [evidence.openPages.join(', '), evidence.expectedPages.join(', ')];
  if (open !== expected) {
    const text = `on-call sees [${open}] open, the true state is [${expected}]`;
    found.push({ kind: 'page', text: [text, ...evidenceOfPages(evidence)].join('\n  ') });
  }
  if (evidence.restAfterMs > withinMs) {
    found.push({ kind: 'slow', text: `rest came ${evidence.restAfterMs} ms after the last heal` });
  }
  for (const bytes of evidence.residentBytes) {
    if (bytes > residentBytesMax)
      found.push({ kind: 'large', text: `a process took ${bytes} bytes of memory` });
  }
  for (const { role, whenReady, atRest } of evidence.files) {
    if (atRest > whenReady + moreFilesMax)
      found.push({
        kind: 'files',
        text: `${role} had ${whenReady} files open when ready and ${atRest} at rest`,
      });
  }
  return found;
}

/**
 * Whatever was announced has been read to its end: a task that is not done would still lead to a read, and one that was set
 * aside never does. What became of its notifications may be on record all the same, so the ledger does not tell.
 */
function checkTasks({ tables }: QuietEvidence): Finding[] {
  return tables.tasks
    .filter(({ state }) => state !== 'done')
    .map(({ id, state, lane, address }) => {
      return { kind: 'unsettled', text: `task ${id} of ${lane}, ${address}, is ${state} at rest` };
    });
}

/** No record is one that Kafka refuses, so each that was decided was sent: none was set aside or left behind. */
function checkSent({ ledger }: ProofEvidence): Finding[] {
  return ledger.events
    .filter(({ state }) => state !== sentToKafka)
    .map(({ key, sequence, state }) => ({
      kind: 'unsent',
      text: `${key} ${sequence} is ${stateNames[state] ?? `in state ${state}`} at rest`,
    }));
}

export const sentToKafka = 2;
export const stateNames: Record<number, string> = {
  0: 'unsent',
  1: 'in the embedded log',
  3: 'quarantined',
  4: 'set aside',
};

/** A fault as the log tells it: a quote within a text of a line would have a backslash before it. */
const faultLine = /"line":"fault"/;

/** What Node prints when nobody caught an error or there was no memory left. */
const fatalLine = /^Node\.js v\d|^FATAL ERROR:|^Uncaught |UnhandledPromiseRejection/;

/** Where Node prints why, above the line that is looked for. */
const fatalLines = 12;

/** Whatever was broken around a process, nothing of it is a fault of its own. The first of each process is told. */
function checkLogs(logs: readonly PrintedLines[]): Finding[] {
  return logs.flatMap(({ role, processes }) =>
    processes.flatMap((lines): Finding[] => {
      const at = lines.findIndex(isFault);
      if (at === -1) return [];
      const from = faultLine.test(lines[at]!) ? at : Math.max(0, at - fatalLines);
      const told = lines.slice(from, at + 1).join(' | ');
      return [{ kind: 'fault', text: `${role} told a fault of its own: ${told.slice(0, 2000)}` }];
    }),
  );
}

const isFault = (line: string): boolean =>
  faultLine.test(line) || (!line.startsWith('{') && fatalLine.test(line));

/** For whoever looks for the reason: what on-call was told, and what the store has of the alert and its organization. */
function evidenceOfPages({ openPages, expectedPages, postsOf, states }: QuietEvidence): string[] {
  const wrong = [
    ...openPages.filter((page) => !expectedPages.includes(page)),
    ...expectedPages.filter((page) => !openPages.includes(page)),
  ];
  const about = (rows: Row[], id: string) =>
    rows.map((row) => JSON.stringify(row)).filter((row) => row.includes(id));
  return wrong.flatMap((page) => {
    const [name = '', id = ''] = page.split(' ');
    return [
      `told of ${page}: ${postsOf(page).join('; ') || 'nothing'}`,
      ...about(states.alerts, name).filter((row) => row.includes(id)),
      ...about(states.organizations, `"id":"${id}"`),
      ...about(states.history, `"organization_id":"${id}"`).slice(-6),
    ];
  });
}
