// Goal: what the process notices of itself is told while it lasts, and is over when it is not noticed any more.
import { alertOfCondition } from '../../../src/alert/alert-of-condition';
import { makeProcessWatch } from '../../../src/alert/process-watch';
import type { Condition } from '../../../src/model/alert';
import { alertingOptions, noonMs } from './samples';

function watch(signs = () => true, host = 'host-1') {
  const at = { ms: noonMs, backMs: 0 };
  const clock = { nowMs: () => at.ms - at.backMs, steadyMs: () => at.ms };
  const made = makeProcessWatch(clock, signs, host);
  /** For as long as makes it so: ten seconds. */
  const hearOff = (offsetMs: number) => {
    made.heardClock(offsetMs);
    at.ms += 10_000;
    made.heardClock(offsetMs);
  };
  return { at, watch: made, hearOff };
}

test.each([
  [59_000, []],
  [-59_000, []],
  [61_000, ['The provider’s clock is 61 s ahead of that of host-1.']],
  [-600_000, ['The provider’s clock is 600 s behind that of host-1.']],
])('W19: a clock that is off by %i ms', (offsetMs, details) => {
  const { watch: noticed, hearOff } = watch();
  hearOff(offsetMs);
  expect(noticed.conditions().map(({ detail }) => detail)).toEqual(details);
});

test('a clock is not off by what one answer says, nor with a right one between', () => {
  const { at, watch: noticed } = watch();
  noticed.heardClock(90_000);
  at.ms += 9999;
  noticed.heardClock(90_000);
  expect(noticed.conditions()).toEqual([]);
  noticed.heardClock(0);
  at.ms += 10_000;
  noticed.heardClock(90_000);
  expect(noticed.conditions()).toEqual([]);
  at.ms += 10_000;
  noticed.heardClock(90_000);
  expect(noticed.conditions()).toHaveLength(1);
});

test('it is since when it was first noticed, and over with the first right answer', () => {
  const { at, watch: noticed } = watch();
  noticed.heardClock(90_000);
  at.ms += 60_000;
  noticed.heardClock(95_000);
  expect(noticed.conditions()).toEqual([
    {
      name: 'clock-off',
      sinceMs: noonMs,
      detail: 'The provider’s clock is 95 s ahead of that of host-1.',
      ids: ['host-1'],
    },
  ]);
  noticed.heardClock(1000);
  expect(noticed.conditions()).toEqual([]);
});

test('the page names the host as a pod is called, which looks like a token', () => {
  const pod = 'tramline-7d9f8b6c5d-x2x4z';
  const { watch: noticed, hearOff } = watch(undefined, pod);
  hearOff(90_000);
  const [condition] = noticed.conditions() as [Condition];
  const { annotations } = alertOfCondition(condition, noonMs, alertingOptions);
  expect(annotations.description).toContain(`The provider’s clock is 90 s ahead of that of ${pod}.`);
});

test('by a clock that is off nothing is lost where nothing is signed', () => {
  let signs = false;
  const { watch: noticed, hearOff } = watch(() => signs);
  hearOff(90_000);
  noticed.decryptionFailed('no encryption key with id k1 is configured');
  expect(noticed.conditions().map(({ losesNothing }) => losesNothing)).toEqual([true, undefined]);
  signs = true;
  expect(noticed.conditions().map(({ losesNothing }) => losesNothing)).toEqual([undefined, undefined]);
});

test.each([86_400_000, -86_400_000])(
  'what is kept for days is lost by a clock that is off by %i ms',
  (offsetMs) => {
    const { watch: noticed, hearOff } = watch(() => false);
    hearOff(offsetMs - Math.sign(offsetMs));
    expect(noticed.conditions()).toMatchObject([{ losesNothing: true }]);
    noticed.heardClock(offsetMs);
    const [{ detail, losesNothing }] = noticed.conditions() as [Condition];
    expect(losesNothing).toBeUndefined();
    expect(detail).toMatch(
      / that of host-1\. What is kept for a number of days may be given up too early\.$/,
    );
    noticed.heardClock(90_000);
    expect(noticed.conditions()).toMatchObject([
      { losesNothing: true, detail: 'The provider’s clock is 90 s ahead of that of host-1.' },
    ]);
  },
);

test('tokens that no key opens are told until they are not asked for any more', () => {
  const { at, watch: noticed } = watch();
  noticed.decryptionFailed('no encryption key with id k1 is configured');
  expect(noticed.conditions()).toMatchObject([{ name: 'decryption-failed' }]);
  at.ms += 900_000;
  expect(noticed.conditions()).toEqual([]);
});

test('tokens that no key opened are told no more once all are opened', () => {
  const { watch: noticed, hearOff } = watch();
  hearOff(90_000);
  noticed.decryptionFailed('no encryption key with id k1 is configured');
  noticed.decryptionSucceeded();
  expect(noticed.conditions()).toMatchObject([{ name: 'clock-off' }]);
});

test('what was noticed before the clock was set back is forgotten no later', () => {
  const { at, watch: noticed, hearOff } = watch();
  hearOff(-3_600_000);
  at.backMs = 3_600_000;
  at.ms += 900_000;
  expect(noticed.conditions()).toEqual([]);
});
