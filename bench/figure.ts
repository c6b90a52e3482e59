// What a figure is: its name, how it is measured, and the line it becomes in the table and in the JSON. Types, and the
// one way in which a bound is judged.
import { median } from './measure';
import type { Place, World } from './place';
import type { MicrosEach } from './usage';

export interface Line {
  figure: string;
  /** As measured, the median of its turns. */
  measured: number;
  /** The floor of the same run; null where there is none. */
  floor: number | null;
  unit: string;
  /** The number that the bound speaks of: a ratio, a difference, or the measured value itself. */
  judged: number;
  bound: { kind: 'at least' | 'at most'; value: number; of: string } | null;
  /** null where there is no bound: printed beside the others. */
  holds: boolean | null;
  /** Processor time for one item, the median of the turns; left out where it is not taken. */
  processor?: { measured: MicrosEach; floor: MicrosEach };
  /** Everything measured, turn by turn. */
  turns: Record<string, unknown>;
}

export interface Figure {
  /** For `--only`. */
  name: string;
  /** What its provider has or does otherwise than usual. */
  world?: Partial<World>;
  measure(place: Place): Promise<Line[]>;
}

type Given = Omit<Line, 'holds'>;

export function line(given: Given): Line {
  const { bound, judged } = given;
  if (bound === null) return { ...given, holds: null };
  return { ...given, holds: bound.kind === 'at least' ? judged >= bound.value : judged <= bound.value };
}

/** Thread by thread. */
export function medianMicros(turns: readonly MicrosEach[]): MicrosEach {
  const of = (thread: keyof MicrosEach) => median(turns.map((turn) => turn[thread]));
  return { main: of('main'), store: of('store'), other: of('other'), all: of('all') };
}
