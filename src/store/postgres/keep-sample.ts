/**
 * Samples of bodies that cannot be read: once per body, a bounded number in all.
 */
import type { Context } from './context';
import { insertEntries } from './quarantine-entries';

/** Where nobody is authenticated anybody can send bodies that cannot be read. */
const samplesMax = 1000;

/** At most 1,000 samples are kept. */
export async function keepSample(
  context: Context,
  sample: { bodyHash: string; detail: string; raw: string },
): Promise<boolean> {
  const reason = 'malformed-body';
  const row = await context.database.get(
    `SELECT count(*) AS kept FROM quarantine WHERE state = 'waiting' AND reason = $1`,
    reason,
  );
  if (row!.kept >= samplesMax) return false;
  const { bodyHash, detail, raw } = sample;
  const entry = { what: 'delivery', reason, path: '', detail, sampleHash: bodyHash, raw } as const;
  return (await insertEntries(context, [entry])) > 0;
}
