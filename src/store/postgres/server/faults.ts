/**
 * What an error of the server or of the way to it means: not now, not so, lost against another, or that the connection is of
 * no more use. Told by SQLSTATE (PostgreSQL, Error Codes), never by words of the server, which are in its language.
 */
import { Problem } from '../../../model/problem';
import { wordsOf } from './words';

/**
 * SQLSTATE classes and codes that say "not now" rather than "not so". What statements are is ours and what they name is the
 * schema's (26, 3F, 42): where the server refuses that, or somebody's rights to it, no value of a call is at fault.
 */
const unavailableClasses = new Set(['08', '53', '55', '57', '58', '25', '26', '28', '3D', '3F', '42', 'XX']);
const unavailableCodes = new Set(['40003']);
/** The last is a plan that a schema outdated which was expanded meanwhile; servers say so in their own languages. */
const lostCodes = new Set(['40001', '40P01', '0A000']);

function codeOf(error: unknown): string | undefined {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : undefined;
}

/** No number is left for a transaction until old rows are vacuumed. The code is that of a row too large: who says it tells them apart. */
function saysOutOfNumbers(error: unknown): boolean {
  const { routine } = error as { routine?: unknown };
  return codeOf(error) === '54000' && /^GetNew(Transaction|MultiXact)Id$/.test(String(routine));
}

/** What has no SQLSTATE did not come from the server. The system's EPIPE is as long as one. */
function stateOf(error: unknown): string | undefined {
  const code = codeOf(error);
  return code !== undefined && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/**
 * Was a statement refused only since an earlier one of its transaction had failed? Statements are sent without waiting for
 * each other, and all after the one that failed are answered so: which of them a caller hears of first is chance.
 */
export function saysAborted(error: unknown): boolean {
  return codeOf(error) === '25P02';
}

/**
 * Is the connection itself of no more use? Not for a fault of ours beside it. One that lacks what was prepared on
 * it, or has what was not, is another's.
 */
export function isBroken(error: Error): boolean {
  if (error instanceof Problem) return false;
  const state = stateOf(error);
  return state === undefined ? isOutside(error) : /^(08|57P|0A000|26|42P05)/.test(state);
}

/** May its session only read? It was made to a server that another took the place of, or under a setting that may be gone. */
export function saysReadOnly(error: unknown): boolean {
  return codeOf(error) === '25006';
}

/** Did a lock not come in time? Where a statement waits for several in turn, all of its time may be over before that is said. */
export function mayBeLocked(error: unknown): boolean {
  return codeOf(error) === '55P03' || saysLate(error);
}

/** Was all of a statement's time over? */
export function saysLate(error: unknown): boolean {
  return codeOf(error) === '57014';
}

/** Has the server no place for one more connection? */
export function saysFull(error: unknown): boolean {
  return codeOf(error) === '53300';
}

/** Did it lose against another, or against a schema that was expanded meanwhile? */
export function isLost(error: unknown): boolean {
  const code = codeOf(error);
  return isOvertaken(error) || (code !== undefined && lostCodes.has(code));
}

/** Did another make a row for the same resource first? Where many rows are made at once, that may be so of one after the other. */
export function isOvertaken(error: unknown): boolean {
  return codeOf(error) === '23505' && (error as { constraint?: string }).constraint === 'tasks_resource';
}

/** Did the server meet something on its disk that it cannot read? Also where the answer was made a problem already. */
export function saysDamaged(error: unknown): boolean {
  const { cause } = error as { cause?: unknown };
  return codeOf(error) === 'XX001' || (cause !== undefined && saysDamaged(cause));
}

/** What a failed call means to its caller. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const state = stateOf(error);
  const fault = state === undefined && !isOutside(error);
  const unavailable =
    !fault &&
    (state === undefined ||
      unavailableClasses.has(state.slice(0, 2)) ||
      unavailableCodes.has(state) ||
      saysOutOfNumbers(error) ||
      isLost(error));
  return new Problem(unavailable ? 'store.unavailable' : 'store.refused', wordsOf(error), error);
}

/**
 * What sockets and the driver say is a plain error, or several of them; a fault of ours is of a kind, such as a TypeError, also
 * where Node gives it a code. By name, since what Node makes is not always of the class that is known here; an answer that makes no
 * sense is pg's `error`, without a state.
 */
function isOutside(error: unknown): boolean {
  const { name } = error as { name?: unknown };
  return name === 'Error' || name === 'AggregateError' || name === 'error';
}
