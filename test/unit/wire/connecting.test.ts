// What a stop of the renewals tells of the consents that it leaves in doubt.
import { loadSettings } from '../../../src/config';
import type { LeftBehind } from '../../../src/connect/given-grants';
import { type ConnectingParts, wireConnecting } from '../../../src/wire/connecting';
import { makeHandClock } from '../../support/hand-clock';

const { settings } = loadSettings('command', {
  PROVIDER_VENDOR: 'acme',
  PROVIDER_URL: 'http://127.0.0.1:9100/platform/',
  PROVIDER_EQUIPMENT_URL: 'http://127.0.0.1:9100/isg',
  PROVIDER_CLIENT_KEY: 'key',
  PROVIDER_CLIENT_SECRET: 'canary-secret',
  PROVIDER_ISSUER: 'http://127.0.0.1:9100',
  ENCRYPTION_KEYS: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
});

/** Stops where the renewals end with that. */
async function stop(left: LeftBehind) {
  const told: string[] = [];
  const lost = (detail: string) => void told.push(detail);
  const parts = { store: {}, book: {}, clock: makeHandClock(0), holder: 'h', lost };
  const connecting = wireConnecting(settings, parts as unknown as ConnectingParts);
  jest.spyOn(connecting.renewal, 'end').mockResolvedValue(left);
  try {
    return { isWell: await connecting.stop(1000), told };
  } finally {
    connecting.close();
  }
}

test('a stop that leaves no consent in doubt ends well, and tells nothing', async () => {
  expect(await stop({ unstored: [], unanswered: [] })).toEqual({ isWell: true, told: [] });
});

test.each([
  [['c1'], []],
  [[], ['c2']],
])(
  'a stop that leaves one in doubt does not end well: not stored %p, not answered %p',
  async (unstored, unanswered) => {
    const { isWell, told } = await stop({ unstored, unanswered });
    expect([isWell, told.length]).toEqual([false, 1]);
  },
);

test('what a stop leaves in doubt is told once, whatever it is: of one code a second line is not written', async () => {
  const { told } = await stop({ unstored: ['c1'], unanswered: ['c2'] });
  expect(told).toEqual([expect.stringMatching(/connection c1 .*; .*connection c2 /)]);
  const many = (letter: string) => Array.from({ length: 12 }, (_, nth) => `${letter}-${10_000_000 + nth}`);
  const [all] = (await stop({ unstored: many('c'), unanswered: many('d') })).told;
  // A line takes no more.
  expect(all!.length).toBeLessThanOrEqual(500);
});
