/**
 * The first step of an alert with the id that it is about. Pure.
 */
import { shellWord } from '../model/shell-word';

/** `{id}` in a command, between backticks, becomes one word of a shell; elsewhere the id as it is listed. */
export function firstStepFor(step: string, id: string): string {
  return step.replace(/`[^`]*`|\{id\}/g, (part) =>
    part === '{id}' ? id : part.replaceAll('{id}', () => shellWord(id)),
  );
}
