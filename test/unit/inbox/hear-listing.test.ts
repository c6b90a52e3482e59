/**
 * A listing is heard as it passes: its pages come out unchanged, and an outage that only listings see is an outage too.
 */
import { hearListing } from '../../../src/inbox/hear-listing';
import { makeProviderHealth } from '../../../src/inbox/provider-health';
import type { Answer } from '../../../src/model/answer';

const origin = 'https://provider.example';
const of = { origin, connectionId: 'c1' };
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
  const doors = { health, nowMs: () => 1000, outageEnded: () => ended.push('ended') };
  const hear = async (...pages: Page[]): Promise<Page[]> => {
    const heard: Page[] = [];
    for await (const page of hearListing(listingOf(...pages), of, doors)) heard.push(page);
    return heard;
  };
  return { health, ended, hear };
}

test('pages pass unchanged', async () => {
  const pages: Page[] = [{ partial: false }, { partial: true, answer: null }];
  expect(await hearing().hear(...pages)).toEqual(pages);
});

test('five failed listings are an outage, and the next good page ends it', async () => {
  const { health, ended, hear } = hearing();
  for (let count = 0; count < 5; count += 1) await hear({ partial: true, answer: failed });
  expect(health.troubles(1000)).toMatchObject([
    { name: 'provider-unavailable', detail: 'status-503: away', labels: { origin } },
  ]);
  await hear({ partial: false }, { partial: false });
  expect(health.troubles(1000)).toEqual([]);
  expect(ended).toEqual(['ended']);
});

test('a listing that is told to slow down cools down the client key', async () => {
  const { health, hear } = hearing();
  await hear({ partial: true, answer: { kind: 'rate-limited', retryAfterMs: 2000 } });
  expect(health.coolDownMs(1000)).toBe(2000);
});

test('a listing that is refused for the client key says so', async () => {
  const { health, hear } = hearing();
  await hear({ partial: true, answer: { kind: 'client-refused', connectionId: 'c1', message: null } });
  expect(health.troubles(1000)).toMatchObject([{ name: 'client-refused', sinceMs: 1000 }]);
});
