// Whether what a process holds grows while its load stays the same. Judged is the later part of a run, when what is filled
// once is full: the line through its samples, whose slope is the median of the slopes between them, so that single peaks
// say nothing. What it rises from the first judged sample to the last must stay within an allowance, however long the run
// is: a longer run sees slower leaks. Pure.
import type { Resources } from '../support/tell-resources';

export type Quantity = 'resident' | 'living' | 'timers' | 'handles' | 'files';

export type Course = {
  quantity: Quantity;
  /** The median of the judged samples. */
  level: number;
  /** By what the line rises over the judged part; negative when it falls. */
  rise: number;
  perHour: number;
  allowed: number;
  grows: boolean;
};

/** The part of a run that is not judged, from its beginning. */
const warmUpShare = 0.4;
const samplesMin = 8;
const megabyte = 1_048_576;
/** A rise up to this is no growth: an absolute one, or a share of the level, whichever is more. */
const allowances: Record<Quantity, { least: number; share: number }> = {
  resident: { least: 16 * megabyte, share: 0.08 },
  living: { least: 3 * megabyte, share: 0.08 },
  timers: { least: 32, share: 0.1 },
  handles: { least: 32, share: 0.1 },
  files: { least: 32, share: 0.1 },
};
/** More would be compared with each other too often; what is between them is left out. */
const comparedMax = 400;

/** One course for each quantity. Throws when there are too few samples to say anything. */
export function judgeSoak(samples: Resources[]): Course[] {
  const [first, last] = [samples.at(0), samples.at(-1)];
  const fromMs =
    first === undefined || last === undefined ? 0 : first.atMs + (last.atMs - first.atMs) * warmUpShare;
  const late = samples.filter(({ atMs }) => atMs >= fromMs);
  if (late.length < samplesMin)
    throw new Error(`${late.length} samples say nothing: ${samplesMin} are needed`);
  const each = Math.ceil(late.length / comparedMax);
  const judged = late.filter((_, index) => index % each === 0);
  const spanMs = judged.at(-1)!.atMs - judged[0]!.atMs;
  return (Object.keys(allowances) as Quantity[]).map((quantity) => {
    const points = judged.map((sample) => ({ x: sample.atMs, y: sample[quantity] }));
    const slope = slopeOf(points);
    const level = median(points.map(({ y }) => y));
    const { least, share } = allowances[quantity];
    const allowed = Math.max(least, level * share);
    const rise = slope * spanMs;
    return { quantity, level, rise, perHour: slope * 3_600_000, allowed, grows: rise > allowed };
  });
}

/** Of the line through these points: the median of all slopes between two of them. */
function slopeOf(points: { x: number; y: number }[]): number {
  const slopes: number[] = [];
  for (const [index, from] of points.entries()) {
    for (const to of points.slice(index + 1))
      if (to.x > from.x) slopes.push((to.y - from.y) / (to.x - from.x));
  }
  return median(slopes);
}

function median(values: number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[sorted.length >> 1] ?? 0;
}
