import { hintedGapMs } from '../../../src/store/store-rules';

describe('hints cause at most one probe of an organization', () => {
  test('in a minute with the pauses as they are shipped, and with longer ones', () => {
    expect(hintedGapMs({ probeMs: 15_000 })).toBe(60_000);
    expect(hintedGapMs({ probeMs: 900_000 })).toBe(60_000);
  });

  test('in four of the first pauses where these are shorter', () => {
    expect(hintedGapMs({ probeMs: 1000 })).toBe(4000);
  });
});
