/**
 * What is shown after a change: a read of its own, which may fail where the change did not. Whoever asked is told that it
 * was made, so that nobody takes the failure for a refusal and asks again.
 */
import { isProblem, Problem } from '../model/problem';

/** Throws what the read throws, with the same code, and says before it that the change was taken. */
export async function afterChange<Value>(read: Promise<Value>): Promise<Value> {
  try {
    return await read;
  } catch (error) {
    if (!isProblem(error)) throw error;
    const made = 'the provider has taken the change, and what it shows now could not be read';
    throw new Problem(error.code, `${made}: ${error.message}`, error);
  }
}
