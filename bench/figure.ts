// What a figure is: its name, how it is measured, and the line it becomes in the table and in the JSON. Types, and the
// one way in which a bound is judged.
import type { Place } from './place';

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
  /** Everything measured, turn by turn. */
  turns: Record<string, unknown>;
}

export interface Figure {
  /** For `--only`. */
  name: string;
  measure(place: Place): Promise<Line[]>;
}

type Given = Omit<Line, 'holds'>;

export function line(given: Given): Line {
  const { bound, judged } = given;
  if (bound === null) return { ...given, holds: null };
  return { ...given, holds: bound.kind === 'at least' ? judged >= bound.value : judged <= bound.value };
}
