/**
 * Marks the resources behind addresses due, in sets. What a hint does to a task stands in the database (`hint-functions.ts`),
 * which is told of each address once, however many hints name it.
 */
import type { HintElement } from '../../model/notification';
import type { Context } from './context';

export interface Hint {
  /** Which of the deliveries it is of, from 1 on. */
  of: number;
  /** Its place in the delivery. */
  element: number;
  receivedAtMs: number;
  traceparent: string | null;
  hint: HintElement;
}

/** What the hints of one address say together. */
interface Said {
  /** Among the addresses, from 1 on. */
  at: number;
  count: number;
  organizationId: string | null;
  user: string | null;
  /** Of the last hint that names an organization or a user: does it name a user? */
  endsInUser: boolean;
  receivedAtMs: number;
  traceparent: string | null;
}

/**
 * The hints in the order in which they were accepted, of these deliveries. Their organizations are there already. What is written
 * leaves with the commit.
 */
export function markHints(context: Context, deliveryIds: number[], hints: Hint[]): void {
  if (hints.length === 0) return;
  context.news.add('work');
  const { addresses, places } = hintLists(hints);
  context.database.last(
    'SELECT mark_hints_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)',
    context.nowMs(),
    context.settings.readGapMs,
    ...addresses,
    deliveryIds,
    ...places,
  );
}

/** As the functions of the database take them: lists of what is said of each address, and of each hint's place. */
export function hintLists(hints: Hint[]): { addresses: unknown[][]; places: unknown[][] } {
  const byAddress = new Map<string, Said>();
  const places: [number[], number[], number[], number[]] = [[], [], [], []];
  for (const { of, element, receivedAtMs, traceparent, hint } of hints) {
    let said = byAddress.get(hint.address);
    if (said === undefined) {
      const none = { count: 0, organizationId: null, user: null, endsInUser: false, traceparent };
      said = { at: byAddress.size + 1, receivedAtMs, ...none };
      byAddress.set(hint.address, said);
    }
    said.count += 1;
    said.traceparent = traceparent;
    said.organizationId = hint.organizationId ?? said.organizationId;
    said.user = hint.user ?? said.user;
    if (hint.organizationId !== null || hint.user !== null) said.endsInUser = hint.user !== null;
    places[0].push(said.at);
    places[1].push(said.count);
    places[2].push(of);
    places[3].push(element);
  }
  const said = [...byAddress.values()];
  const addresses = [
    [...byAddress.keys()],
    said.map(({ count }) => count),
    said.map(({ organizationId }) => organizationId),
    said.map(({ user }) => user),
    said.map(({ endsInUser }) => endsInUser),
    said.map(({ receivedAtMs }) => receivedAtMs),
    said.map(({ traceparent }) => traceparent),
  ];
  return { addresses, places };
}

/** Those that hints name, each once. */
export function organizationsIn(hints: Pick<Hint, 'hint'>[]): string[] {
  return [...new Set(hints.flatMap(({ hint }) => hint.organizationId || []))];
}
