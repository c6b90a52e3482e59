/**
 * How commands print a listing that is streamed: one JSON array written as it comes, or tables of some hundred rows.
 * What could not be read is said on standard error and decides the exit code; the rest is printed all the same. And how
 * much of a long list a person is shown.
 */
import { Problem } from '../model/problem';
import type { Listed, ListingFault } from '../model/provider-data';
import { withAddress } from '../model/shown-address';
import { exitCodeOf, exitCodes } from './exit-code';
import { firstNamed } from './first-named';
import type { Column, Output } from './output';

const rowsOfTable = 500;
/** Of a list that a person looks through: those that matter most come first, the rest is counted. */
const rowsShown = 50;
/** How many organizations are named in one line. */
const namedMax = 20;

export interface Shown<Item> {
  columns: Column<Item>[];
  /** What stands there when there is nothing. */
  nothing: string;
}

/**
 * Prints all of it and resolves to the exit code; memory holds one table. What befell many organizations alike is told of the
 * first, with 20 of the others by their ids and the count of the rest. Throws what comes before the first line.
 */
export async function printListing<Item>(
  output: Output,
  listing: AsyncIterable<Listed<Item>>,
  { columns, nothing }: Shown<Item>,
): Promise<number> {
  let fault: ListingFault | null = null;
  const repeats = makeRepeats();
  let rows: Item[] = [];
  let count = 0;
  const table = () => {
    if (rows.length > 0) output.table(rows, columns);
    rows = [];
  };
  const array = output.json ? output.array() : null;
  for await (const line of listing) {
    if ('fault' in line) {
      fault ??= line.fault;
      if (!repeats.isOne(line.fault)) output.warn(sentenceOf(line.fault));
      continue;
    }
    count += 1;
    if (array !== null) array.add(line.item);
    else {
      rows.push(line.item);
      if (rows.length === rowsOfTable) table();
    }
  }
  for (const sentence of repeats.sentences()) output.warn(sentence);
  if (array !== null) array.end();
  else {
    table();
    if (count === 0 && fault === null) output.line(nothing);
  }
  if (fault === null) return exitCodes.done;
  return exitCodeOf(new Problem(fault.code, fault.detail));
}

/** The first rows as a table, and how many more there are; `all`: the command that has them. */
export function firstRows<Row>(output: Output, rows: Row[], columns: Column<Row>[], all: string): void {
  output.table(rows.slice(0, rowsShown), columns);
  if (rows.length > rowsShown) output.line(`… and ${rows.length - rowsShown} more: ${all}`);
}

/**
 * What is said of many organizations in the same words, as of all behind one consent, is said of the first; the others are
 * named at the end. Bounded by the organizations.
 */
function makeRepeats() {
  const first = new Map<string, { organizationId: string; others: string[] }>();
  return {
    /** True for what need not be told again now. */
    isOne({ code, detail, address, organizationId, actionUrl }: ListingFault): boolean {
      if (organizationId === null || address !== null) return false;
      const words = JSON.stringify([code, detail, actionUrl]);
      const known = first.get(words);
      if (known === undefined) first.set(words, { organizationId, others: [] });
      else known.others.push(organizationId);
      return known !== undefined;
    },
    sentences: () =>
      [...first.values()].flatMap(({ organizationId, others }) => {
        if (others.length === 0) return [];
        const whose = others.length === 1 ? 'organization' : 'organizations';
        return [
          `tramline: ${whose} ${firstNamed(others, namedMax)}: the same as of organization ${organizationId}`,
        ];
      }),
  };
}

/** In one line, with the place to act: the standard error of a script is all that a person may have. */
function sentenceOf({ detail, address, organizationId, actionUrl }: ListingFault): string {
  const whose = organizationId === null ? '' : `organization ${organizationId}: `;
  const todo = actionUrl === null ? '' : `; a customer acts at ${actionUrl}`;
  return `tramline: ${whose}${withAddress(detail, address)}${todo}`;
}
