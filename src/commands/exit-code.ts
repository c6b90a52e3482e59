/**
 * The exit codes of commands, and which problem ends with which. Pure.
 */
import { isProblem, type ProblemCode } from '../model/problem';

export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  refusedByProvider: 4,
  customerMustAct: 5,
  interrupted: 130,
} as const;

const codeOf: Partial<Record<ProblemCode, number>> = {
  'settings.invalid': exitCodes.usage,
  'command.usage': exitCodes.usage,
  'store.locked': exitCodes.usage,
  'store.moved': exitCodes.usage,
  'store.newer': exitCodes.usage,
  'store.older': exitCodes.usage,
  'store.key-missing': exitCodes.usage,
  'command.not-found': exitCodes.notFound,
  'provider.refused': exitCodes.refusedByProvider,
  'provider.action-required': exitCodes.customerMustAct,
};

export function exitCodeOf(error: unknown): number {
  return isProblem(error) ? (codeOf[error.code] ?? exitCodes.failed) : exitCodes.failed;
}
