// What a process wrote and what of it was on disk, from a trace of its system calls (strace), so that the files can be
// rebuilt as a power cut at any moment would have left them. Knows nothing of what the files mean.
import { spawnSync } from 'node:child_process';
import type { Availability } from './neighbour';

export type TraceEvent =
  | { kind: 'write'; path: string; offset: number; bytes: Buffer }
  | { kind: 'truncate'; path: string; size: number }
  | { kind: 'unlink'; path: string }
  /** `after`: so many of the events before it had ended when it began. What was written meanwhile it may have missed. */
  | { kind: 'sync'; path: string; after: number }
  /** Bytes to a TCP peer on this machine. */
  | { kind: 'send'; peerPort: number; bytes: Buffer };

/** Whether system calls can be traced here. */
export function traceAvailable(): Availability {
  const { status } = spawnSync('strace', ['-f', '-e', 'trace=fsync', 'true'], { stdio: 'ignore' });
  return status === 0
    ? { available: true }
    : { available: false, reason: 'strace is not installed or may not trace' };
}

/** What another program is run under so that `readTrace` understands the file; the process is that program's own. */
export function tracedWords(file: string): string[] {
  const calls = 'pwrite64,ftruncate,fsync,fdatasync,unlink,write,writev';
  return [
    'strace',
    '-D',
    '-f',
    '-yy',
    '-xx',
    '-s',
    '1000000',
    '-e',
    `trace=${calls}`,
    '-e',
    'signal=none',
    '-o',
    file,
  ];
}

const unfinished = / <unfinished \.\.\.>$/;
const resumed = /^<\.\.\. \w+ resumed>/;

/** The events of a trace in the order in which the calls ended. Calls that failed or never ended left nothing. */
export function readTrace(text: string): TraceEvent[] {
  const begun = new Map<string, { call: string; after: number }>();
  const events: TraceEvent[] = [];
  for (const line of text.split('\n')) {
    const space = line.indexOf(' ');
    const process = line.slice(0, space);
    let call = line.slice(space).trimStart();
    let after = events.length;
    if (unfinished.test(call)) {
      begun.set(process, { call: call.replace(unfinished, ''), after });
      continue;
    }
    if (resumed.test(call)) {
      const first = begun.get(process) ?? { call: '', after };
      begun.delete(process);
      call = first.call + call.replace(resumed, '');
      after = first.after;
    }
    const event = eventOf(call, after);
    if (event !== null) events.push(event);
  }
  return events;
}

const written = /^pwrite64\(\d+<([^>]*)>, "([^"]*)", \d+, (\d+)\) += (\d+)/;
const cut = /^ftruncate\(\d+<([^>]*)>, (\d+)\) += 0/;
const synced = /^f(?:data)?sync\(\d+<([^>]*)>\) += 0/;
const removed = /^unlink\("([^"]*)"\) += 0/;
const sent = /^writev?\(\d+<TCP:\[[\d.:]+->127\.0\.0\.1:(\d+)\]>, (.*)\) += \d+$/;

function eventOf(call: string, after: number): TraceEvent | null {
  const write = written.exec(call);
  if (write !== null) {
    const bytes = bytesOf(write[2]!).subarray(0, Number(write[4]));
    return { kind: 'write', path: textOf(write[1]!), offset: Number(write[3]), bytes };
  }
  const sync = synced.exec(call);
  if (sync !== null) return { kind: 'sync', path: textOf(sync[1]!), after };
  const truncate = cut.exec(call);
  if (truncate !== null) return { kind: 'truncate', path: textOf(truncate[1]!), size: Number(truncate[2]) };
  const unlink = removed.exec(call);
  if (unlink !== null) return { kind: 'unlink', path: textOf(unlink[1]!) };
  const send = sent.exec(call);
  if (send === null) return null;
  const parts = [...send[2]!.matchAll(/"([^"]*)"/g)].map(([, hex]) => bytesOf(hex!));
  return { kind: 'send', peerPort: Number(send[1]), bytes: Buffer.concat(parts) };
}

function bytesOf(escaped: string): Buffer {
  return Buffer.from(escaped.replaceAll('\\x', ''), 'hex');
}

function textOf(escaped: string): string {
  return escaped.startsWith('\\x') ? bytesOf(escaped).toString() : escaped;
}

type Change = Extract<TraceEvent, { kind: 'write' | 'truncate' }>;

/** What of files is on disk, and what was done to them since, by its place among all events. Takes a trace from its begin. */
export class Disk {
  private readonly files = new Map<string, { durable: Buffer; since: { at: number; change: Change }[] }>();
  private applied = 0;

  /** With `flushes` false no sync ever reaches the disk: what a checker must notice. */
  constructor(private readonly flushes = true) {}

  apply(event: TraceEvent): void {
    const at = this.applied;
    this.applied += 1;
    if (event.kind === 'send') return;
    if (event.kind === 'unlink') {
      this.files.delete(event.path);
      return;
    }
    const file = this.files.get(event.path) ?? { durable: Buffer.alloc(0), since: [] };
    this.files.set(event.path, file);
    if (event.kind !== 'sync') {
      file.since.push({ at, change: event });
      return;
    }
    while (this.flushes && file.since.length > 0 && file.since[0]!.at < event.after)
      file.durable = changed(file.durable, file.since.shift()!.change);
  }

  /**
   * What is left of a file: what was synced, and of what was written since each sector of 512 bytes or not, as `keeps`
   * says. Null when it is not there.
   */
  after(path: string, keeps: () => boolean = () => false): Buffer | null {
    const file = this.files.get(path);
    if (file === undefined) return null;
    let left = file.durable;
    for (const { change } of file.since) {
      if (change.kind === 'truncate' && keeps()) left = changed(left, change);
      if (change.kind !== 'write') continue;
      for (let at = 0; at < change.bytes.length; at += 512) {
        if (!keeps()) continue;
        left = changed(left, {
          ...change,
          offset: change.offset + at,
          bytes: change.bytes.subarray(at, at + 512),
        });
      }
    }
    return left;
  }
}

function changed(content: Buffer, event: Change): Buffer {
  const size =
    event.kind === 'truncate' ? event.size : Math.max(content.length, event.offset + event.bytes.length);
  const next = Buffer.alloc(size);
  content.copy(next);
  if (event.kind === 'write') event.bytes.copy(next, event.offset);
  return next;
}
