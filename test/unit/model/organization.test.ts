/**
 * Organization access as a state machine, against a model that is written as a table: every pair of a state and what may
 * be said is in it, and what nobody may say cannot be written down.
 */
import {
  type Access,
  accessOf,
  type Cause,
  type CauseSet,
  leadingCause,
  type Observation,
  type Said,
  transition,
} from '../../../src/model/organization';
import fc from '../../support/properties';

const causes: Cause[] = ['terms', 'required-action', 'not-connected', 'refused-grant'];
const blocks = <Named extends Cause>(cause: Named) => ({ cause, actionUrl: null, message: null });

/** Everything that may be said, by name. */
const words = {
  'probe: open': { by: 'probe', found: { cause: null } },
  'probe: terms': { by: 'probe', found: blocks('terms') },
  'probe: action': { by: 'probe', found: blocks('required-action') },
  link: { by: 'connections-link', found: blocks('not-connected') },
  grant: { by: 'grant', found: { ...blocks('refused-grant'), connectionId: 'c1' } },
  'sync: link': { by: 'sync', found: blocks('not-connected') },
  operator: { by: 'operator', found: blocks('not-connected') },
  'operator: revoke': { by: 'operator', found: { ...blocks('refused-grant'), connectionId: 'c1' } },
} satisfies Record<string, Said>;
type Word = keyof typeof words;

/** The model: a state is the set of its causes, as letters; what each word makes of it. */
type State = string;
const letters: Record<Cause, string> = {
  terms: 't',
  'required-action': 'a',
  'not-connected': 'n',
  'refused-grant': 'g',
};
const model: Record<Word, (state: State) => State> = {
  'probe: open': () => '',
  'probe: terms': () => 't',
  'probe: action': () => 'a',
  link: (state) => joined(granted(state), 'n'),
  grant: (state) => joined(state, 'g'),
  'sync: link': (state) => joined(granted(state), 'n'),
  operator: () => 'n',
  'operator: revoke': (state) => joined(state, 'g'),
};
const shownAs = (state: State): Access =>
  state.includes('g')
    ? 'reauthorize'
    : state.includes('n')
      ? 'not-connected'
      : state === ''
        ? 'active'
        : 'terms-required';

/** Whoever was answered had a grant that holds. */
const granted = (state: State): State => state.replace('g', '');

function joined(state: State, letter: string): State {
  return [...new Set([...state, letter])].sort().join('');
}

const stateOf = (set: CauseSet): State =>
  causes
    .filter((cause) => set[cause] !== undefined)
    .map((cause) => letters[cause])
    .sort()
    .join('');

/** The letter of the cause that must be dealt with first. */
const firstOf = (state: State): string | undefined =>
  (['refused-grant', 'not-connected', 'terms', 'required-action'] as const)
    .map((cause) => letters[cause])
    .find((letter) => state.includes(letter));

const observed = (word: Word): Observation => ({ organizationId: '1', epoch: 1, ...words[word] });
const allSets: CauseSet[] = Array.from({ length: 2 ** causes.length }, (_, bits) =>
  Object.fromEntries(
    causes
      .filter((_cause, place) => (bits >> place) & 1)
      .map((cause) => [cause, { sinceMs: 1, actionUrl: null, message: null }]),
  ),
);

describe.each(Object.keys(words) as Word[])('%s', (word) => {
  test.each(allSets.map((set) => [stateOf(set) || 'active', set] as const))('in %s', (_name, set) => {
    const next = transition(set, observed(word), 2);
    const expected = model[word](stateOf(set));
    expect(stateOf(next.causes)).toBe(expected);
    expect([next.previous, next.access]).toEqual([shownAs(stateOf(set)), shownAs(expected)]);
    expect(next.changed).toBe(firstOf(stateOf(set)) !== firstOf(expected));
  });
});

test('any order of words ends in the state of the model, and each cause keeps the time it was first named', () => {
  const heard = fc.array(fc.constantFrom(...(Object.keys(words) as Word[])), { maxLength: 30 });
  fc.assert(
    fc.property(heard, (sequence) => {
      let set: CauseSet = {};
      let state: State = '';
      const since = new Map<string, number>();
      sequence.forEach((word, atMs) => {
        set = transition(set, observed(word), atMs).causes;
        state = model[word](state);
        for (const letter of Object.values(letters)) {
          if (!state.includes(letter)) since.delete(letter);
          else if (!since.has(letter)) since.set(letter, atMs);
        }
      });
      expect(stateOf(set)).toBe(state);
      expect(accessOf(set)).toBe(shownAs(state));
      for (const cause of causes) expect(set[cause]?.sinceMs).toBe(since.get(letters[cause]));
    }),
    { numRuns: 500 },
  );
});

test('what is said again changes nothing that is shown', () => {
  for (const word of Object.keys(words) as Word[]) {
    for (const set of allSets) {
      const once = transition(set, observed(word), 2);
      const twice = transition(once.causes, observed(word), 3);
      expect(twice).toEqual({ ...once, previous: once.access, changed: false });
    }
  }
});

test('the leading cause is of the access that is shown', () => {
  for (const set of allSets) {
    const cause = leadingCause(set);
    expect(accessOf(cause === null ? {} : { [cause]: set[cause] })).toBe(accessOf(set));
  }
});

test('what nobody may say cannot be written', () => {
  // @ts-expect-error A refused token says nothing of terms.
  const terms: Said = { by: 'grant', found: blocks('terms') };
  // @ts-expect-error A probe is answered with a refused request, never with a link.
  const link: Said = { by: 'probe', found: blocks('not-connected') };
  // @ts-expect-error A link cannot end a block.
  const open: Said = { by: 'connections-link', found: { cause: null } };
  // @ts-expect-error An operator cannot end a block: the provider's answer does.
  const ended: Said = { by: 'operator', found: { cause: null } };
  // @ts-expect-error A listing shows blocked organizations too: it ends nothing.
  const listed: Said = { by: 'sync', found: { cause: null } };
  expect([terms, link, open, ended, listed]).toHaveLength(5);
});
