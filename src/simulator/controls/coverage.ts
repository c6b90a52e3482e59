// Which rows of the provider's contract were exercised, and how often. Every row is listed, so that a zero shows what
// no test has touched. Counting is one addition; which events make up a row is said in contract-rows.ts.
import { CONTRACT_ROWS } from './contract-rows';
import { type CoverageEvent, EVENTS } from './events';

const NAMES = Object.keys(EVENTS) as CoverageEvent[];

export class Coverage {
  readonly #counts = Object.fromEntries(NAMES.map((event) => [event, 0])) as Record<CoverageEvent, number>;

  count(event: CoverageEvent): void {
    this.#counts[event] += 1;
  }

  /** Every row of the contract with its section, its sentence and how often any of its events happened. */
  rows(): { row: string; section: string; text: string; count: number; events: readonly CoverageEvent[] }[] {
    return CONTRACT_ROWS.map(({ row, section, text, events }) => ({
      row,
      section,
      text,
      count: events.reduce((sum, event) => sum + this.#counts[event], 0),
      events,
    }));
  }

  /** Row → count as one line of JSON, to be added up over several simulators. */
  line(): string {
    return `${JSON.stringify(Object.fromEntries(this.rows().map(({ row, count }) => [row, count])))}\n`;
  }

  events(): { event: CoverageEvent; text: string; count: number }[] {
    return NAMES.map((event) => ({ event, text: EVENTS[event], count: this.#counts[event] }));
  }
}
