// Which rows of the provider's contract were exercised, and how often. Every row is listed, so that a zero shows what
// no test has touched. Counting is one addition; which events make up a row is said in contract-rows.ts.
import { CONTRACT_ROWS } from './contract-rows';
import { type CoverageEvent, EVENTS } from './events';

const NAMES = Object.keys(EVENTS) as CoverageEvent[];

type Counts = Partial<Record<CoverageEvent, number>>;

export class Coverage {
  readonly #counts = Object.fromEntries(NAMES.map((event) => [event, 0])) as Record<CoverageEvent, number>;

  count(event: CoverageEvent): void {
    this.#counts[event] += 1;
  }

  /**
   * Every row of the contract with its section, its sentence and its events, each with how often it happened. The row
   * was exercised as often as the rarest of them: a part that nobody touched is not made up for by the others.
   */
  rows(): { row: string; section: string; text: string; count: number; events: Counts }[] {
    return CONTRACT_ROWS.map(({ row, section, text, events }) => {
      const counts: Counts = Object.fromEntries(events.map((event) => [event, this.#counts[event]]));
      return { row, section, text, count: Math.min(...Object.values(counts)), events: counts };
    });
  }

  /** Row → event → count as one line of JSON, to be added up over several simulators. */
  line(): string {
    return `${JSON.stringify(Object.fromEntries(this.rows().map(({ row, events }) => [row, events])))}\n`;
  }

  events(): { event: CoverageEvent; text: string; count: number }[] {
    return NAMES.map((event) => ({ event, text: EVENTS[event], count: this.#counts[event] }));
  }
}
