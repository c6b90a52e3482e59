/**
 * A listing is heard as it passes: its pages come out unchanged, and an outage that only listings see is an outage too.
 */

import type { Reading } from '../../../src/inbox/failing';
import { hearListing, ofNobody } from '../../../src/inbox/hear-listing';
import { makeProviderHealth } from '../../../src/inbox/provider-health';
import type { Answer } from '../../../src/model/answer';
import { unnamedRefusal } from '../../../src/model/answer-words';

const origin = 'https://provider.example';
const of = { origin, connectionId: 'c1', ...ofNobody };
const failed: Answer = {
  kind: 'transient',
  code: 'status-503',
  detail: 'away',
  origin,
  connectionId: 'c1',
  retryAfterMs: null,
};

type Page = { partial: false } | { partial: true; answer: Answer | null };

async function* listingOf(...pages: Page[]): AsyncGenerator<Page, void> {
  yield* pages;
}

function hearing() {
  const health = makeProviderHealth(() => 0.5);
  const ended: string[] = [];
  const doors = {
    health,
    nowMs: () => 1000,
    outageEnded: () => ended.push('ended'),
    clientServed: () => ended.push('served'),
  };
  const hearOf = async (what: Reading, ...pages: Page[]): Promise<Page[]> => {
    const heard: Page[] = [];
    for await (const page of hearListing(listingOf(...pages), what, doors)) heard.push(page);
    return heard;
  };
  const hear = (...pages: Page[]) => hearOf(of, ...pages);
  return { health, ended, doors, hear, hearOf };
}

test('pages pass unchanged', async () => {
  const pages: Page[] = [{ partial: false }, { partial: true, answer: null }];
  expect(await hearing().hear(...pages)).toEqual(pages);
});

test('three failed lists of organizations are an outage, and the next good page ends it', async () => {
  const { health, ended, hear } = hearing();
  for (let count = 0; count < 3; count += 1) {
    expect(health.troubles(20_000)).toEqual([]);
    await hear({ partial: true, answer: failed });
  }
  expect(health.troubles(20_000)).toMatchObject([
    { name: 'provider-unavailable', detail: 'status-503: away', labels: { origin } },
  ]);
  await hear({ partial: false }, { partial: false });
  expect(health.troubles(20_000)).toEqual([]);
  expect(ended).toEqual(['ended']);
});

test('a failure is that of the origin that was asked, and nobody’s where none was', async () => {
  const { health, hear } = hearing();
  for (const asked of ['', 'https://other.example']) {
    const answer = { ...failed, origin: asked };
    for (let count = 0; count < 3; count += 1) await hear({ partial: true, answer });
  }
  expect(health.troubles(20_000)).toMatchObject([{ labels: { origin: 'https://other.example' } }]);
});

test('a listing of one organization that fails is that organization’s alone, however often', async () => {
  const { health, hearOf } = hearing();
  const ofOne = { ...of, organizationId: 'A', address: 'the equipment of A' };
  for (let count = 0; count < 9; count += 1) await hearOf(ofOne, { partial: true, answer: failed });
  expect(health.troubles(20_000)).toEqual([]);
  expect(health.heldMs({ ...of, organizationId: 'B', address: `${origin}/1` }, 1000)).toBe(0);
});

test('a listing that is refused for the client key says so', async () => {
  const { health, hear } = hearing();
  const refused = { kind: 'client-refused', connectionId: 'c1' } as const;
  await hear({ partial: true, answer: { ...refused, message: null } });
  const trouble = { name: 'client-refused', sinceMs: 1000 };
  expect(health.troubles(1000)).toMatchObject([{ ...trouble, detail: unnamedRefusal }]);
  await hear({ partial: true, answer: { ...refused, message: 'scope ag2 is missing' } });
  expect(health.troubles(1000)).toMatchObject([{ ...trouble, detail: 'scope ag2 is missing' }]);
});

test('a list of organizations is remembered for minutes, and one of a single organization is the sync’s to tell', async () => {
  const { health, hear, hearOf, ended } = hearing();
  const answer = { kind: 'client-refused', connectionId: 'c1', message: null } as const;
  await hearOf({ ...of, address: 'the equipment of A' }, { partial: true, answer });
  await hearOf({ ...of, address: 'the equipment of A' }, { partial: false });
  expect([health.troubles(1000), ended]).toEqual([[], []]);
  await hear({ partial: true, answer });
  expect(health.troubles(1000 + 899_999)).toHaveLength(1);
  expect(health.troubles(1000 + 900_000)).toEqual([]);
});

test('it is over when the same listing is answered, and not when another is', async () => {
  const { health, ended, hear, hearOf } = hearing();
  await hear({ partial: true, answer: { kind: 'client-refused', connectionId: 'c1', message: null } });
  await hearOf({ ...of, connectionId: 'c2' }, { partial: false });
  await hearOf({ ...of, address: 'the equipment of A' }, { partial: false });
  // Nobody asks for a listing since what waits was made due.
  health.refusedHastened(2000);
  expect(health.troubles(1000)).toHaveLength(1);
  expect(ended).toEqual([]);
  await hear({ partial: false }, { partial: false });
  expect(health.troubles(1000)).toEqual([]);
  expect(ended).toEqual(['served']);
});
