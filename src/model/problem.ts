/**
 * The catalogue of errors that cross rooms. Each has a stable code; what happens next is a property of the error. The
 * message never holds a secret. Imports nothing.
 */

/** Every code, with what a caller does about it. */
const problemCodes = {
  'settings.invalid': 'the process ends with 2',
  'store.unavailable': 'the sender is answered 503; the caller tries again',
  'store.locked': 'another process owns the embedded store: the process ends with 2',
  'store.moved': 'the store was moved to another, or a move into it is not complete: the process ends with 2',
  'store.newer': 'the store is of a version that this one cannot serve: the process ends with 2',
  'store.older':
    'nobody has brought the store to this version: what only asks leaves it, and ends with 2 until it is migrated',
  'store.closed': 'the process is stopping',
  'store.refused': 'the call itself is at fault; repeating it does not help',
  'store.key-missing': 'a row was sealed with a key that is not configured: the process ends with 2',
  'publish.unavailable': 'the relay waits and builds a new producer',
  'publish.refused': 'somebody must change something: the relay tries again ever less often, a replay ends',
  'provider.unavailable': 'the caller waits under one alert; a command ends with 1',
  'provider.malformed': 'what the provider sent cannot be read: the command ends with 1',
  'provider.refused': 'the provider refuses it: the command ends with 4',
  'provider.action-required': 'a customer must act at the provider: the command ends with 5',
  'command.usage': 'the command ends with 2',
  'command.not-found': 'the command ends with 3',
  'command.refused': 'the state of the thing forbids it: the command ends with 1',
  'command.expired': 'what was asked for is no longer kept: the command ends with 1',
} as const;

export type ProblemCode = keyof typeof problemCodes;

export class Problem extends Error {
  readonly code: ProblemCode;

  constructor(code: ProblemCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'Problem';
    this.code = code;
  }
}

/** Narrows anything thrown to a Problem of the given code. */
export function isProblem(error: unknown, code?: ProblemCode): error is Problem {
  return error instanceof Problem && (code === undefined || error.code === code);
}
