// Numbers out of repeated turns: medians, percentiles, and contestants measured in turns. Pure but for what it calls;
// knows nothing of what is measured.

/** The middle of at least one number; the mean of the two middle ones of an even count. */
export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((left, right) => left - right);
  const middle = sorted.length / 2;
  return Number.isInteger(middle)
    ? ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2
    : (sorted[Math.floor(middle)] as number);
}

/** The smallest number that `share` (0 to 1) of them do not exceed. */
export function percentile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((left, right) => left - right);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] as number;
}

export type Turns<Name extends string, Result> = Record<Name, Result[]>;

/**
 * Measures the contestants in turns, A B C A B C …, `rounds` times, after one turn each that does not count; `turn` is 0
 * for that one. What shares a round was measured under the same conditions.
 */
export async function inTurns<Name extends string, Result>(
  contestants: Record<Name, (turn: number) => Promise<Result>>,
  rounds: number,
): Promise<Turns<Name, Result>> {
  const names = Object.keys(contestants) as Name[];
  const results = Object.fromEntries(names.map((name) => [name, [] as Result[]])) as Turns<Name, Result>;
  for (let turn = 0; turn <= rounds; turn += 1) {
    for (const name of names) {
      const result = await contestants[name](turn);
      if (turn > 0) results[name].push(result);
    }
  }
  return results;
}

/** The median of the ratios of each round, which a machine that slows down for a while does not distort. */
export function medianRatio(measured: readonly number[], floor: readonly number[]): number {
  return median(measured.map((value, round) => value / (floor[round] as number)));
}
