/**
 * Turns of the event loop. Each takes one connection from the system, and a piece of what came over every other: so bodies
 * are judged for a little of each turn only, and it is known since when whoever is heard may have been waiting.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../tools/clock';

export interface Turns {
  /** Of this server; once. */
  watch(server: Server): void;
  /** The last of a body of so many bytes was read in this turn. */
  whole(request: IncomingMessage, bytes: number): void;
  /** How long its last byte may have waited until now, unread or since then; at most. */
  waitedMs(request: IncomingMessage): number;
  /** Does it at once, or in a later turn; in order. */
  inTurn(work: () => void): void;
}

/** What is begun after this waits for the next turn. */
const workMsOfTurn = 50;
/** Where the next connection may have waited for so long, those that wait are taken before anything more is judged … */
const takenFirstAfterMs = 1000;
/** … as many as may be waiting: the system keeps 511 for a listener of Node. */
const waitingMax = 512;
/** So much of what came over one connection is read in a turn. */
const pieceBytes = 64 * 1024;

/** Judges for 50 ms of a turn; before more is judged, at most 512 connections are taken that may have waited for 1 s. */
export function makeTurns(clock: Clock): Turns {
  const works: (() => void)[] = [];
  const connected = new WeakMap<Socket, { inTurnMs: number; queuedMs: number }>();
  const heard = new WeakMap<IncomingMessage, { inTurnMs: number; sinceMs: number }>();
  const turns = keepTurns(clock);
  /** Whether something came in this turn, and whether a connection did. */
  let came = false;
  let connects = false;
  let turning = false;

  const mayWork = () => !turns.takesFirst() && clock.steadyMs() - turns.beganMs(0) < workMsOfTurn;

  function heed(): void {
    came = true;
    if (turning) return;
    turning = true;
    turns.beginAnew();
    setImmediate(nextTurn);
  }

  function nextTurn(): void {
    turns.next(connects);
    connects = false;
    while (works.length > 0 && mayWork()) works.shift()?.();
    turning = came || works.length > 0;
    came = false;
    if (turning) setImmediate(nextTurn);
  }

  return {
    watch(server) {
      server.on('connection', (socket) => {
        heed();
        connects = true;
        connected.set(socket, { inTurnMs: turns.beganMs(0), queuedMs: turns.queuedSinceMs() });
      });
      server.prependListener('request', (request) => {
        heed();
        const { inTurnMs, queuedMs } = connected.get(request.socket) ?? { inTurnMs: 0, queuedMs: 0 };
        const beforeMs = turns.beganMs(1);
        // Over a connection that was there before the last turn, this came after that had begun.
        const sinceMs = inTurnMs >= beforeMs ? queuedMs : beforeMs;
        heard.set(request, { inTurnMs: turns.beganMs(0), sinceMs });
      });
    },
    whole(request, bytes) {
      heed();
      // Reading all of it takes so many turns: of what took longer, the last byte came after they had begun.
      const earliestMs = turns.beganMs(2 + Math.ceil(bytes / pieceBytes));
      const { inTurnMs, sinceMs } = heard.get(request) ?? { inTurnMs: 0, sinceMs: 0 };
      if (inTurnMs < earliestMs) heard.set(request, { inTurnMs, sinceMs: Math.max(sinceMs, earliestMs) });
    },
    waitedMs: (request) => clock.steadyMs() - (heard.get(request)?.sinceMs ?? clock.steadyMs()),
    inTurn(work) {
      if (works.length === 0 && mayWork()) work();
      else works.push(work);
    },
  };
}

/** When the last turns began, and since when connections may wait. */
function keepTurns(clock: Clock) {
  /** A ring: who is taken now came later than so many turns ago, since fewer were before. */
  const began = new Float64Array(waitingMax + 1);
  let count = 0;
  /** A connection came in each turn since. */
  let unbrokenSinceMs = 0;
  let takenFirst = 0;
  let takeFirstFromMs = 0;

  /** Of a turn that is not known any more, when the oldest began. */
  const beganMs = (ago: number): number =>
    began[Math.max(0, count - 1 - Math.min(ago, waitingMax)) % began.length] as number;
  const queuedSinceMs = () => Math.max(unbrokenSinceMs, beganMs(waitingMax));
  const takesFirst = () => {
    const nowMs = clock.steadyMs();
    return nowMs >= takeFirstFromMs && nowMs - queuedSinceMs() >= takenFirstAfterMs;
  };

  function begin(): void {
    began[count % began.length] = clock.steadyMs();
    count += 1;
  }

  function nobodyWaits(): void {
    unbrokenSinceMs = beganMs(0);
    takenFirst = 0;
    takeFirstFromMs = 0;
  }

  return {
    beganMs,
    /** The connection that is taken next has not waited since before this. */
    queuedSinceMs,
    takesFirst,
    /** After nothing came for a while. */
    beginAnew(): void {
      count = 0;
      begin();
      nobodyWaits();
    },
    next(connects: boolean): void {
      if (!connects) nobodyWaits();
      else if (takesFirst()) takenFirst += 1;
      if (takenFirst > waitingMax) {
        // Where connections come faster than they are taken, nobody would ever be judged.
        takenFirst = 0;
        takeFirstFromMs = clock.steadyMs() + takenFirstAfterMs;
      }
      begin();
    },
  };
}
