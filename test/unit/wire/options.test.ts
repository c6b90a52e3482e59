// Goal: whatever pace of repetition is set, Alertmanager ends nothing between two of them, and is told of each end.
import { loadSettings } from '../../../src/config';
import { alertingOptions, alertmanagerOptions } from '../../../src/wire/options';

/** Of the shipped configuration. */
const groupWaitMs = 15_000;

test.each([4, 10, 60, 600, 3600])(
  'an alert repeated every %d s lasts for four of them, and ends after it was told',
  (seconds) => {
    const { settings } = loadSettings('command', { ALERT_RESEND_SECONDS: String(seconds) });
    const { resendMs, holdMs } = alertingOptions(settings);
    const { endsAheadMs, openMs } = alertmanagerOptions(settings, ['http://127.0.0.1:9093']);
    expect(resendMs).toBe(seconds * 1000);
    expect(endsAheadMs).toBeGreaterThanOrEqual(Math.max(300_000, 4 * resendMs));
    expect(openMs).toBeGreaterThan(groupWaitMs);
    expect(openMs).toBeGreaterThanOrEqual(holdMs);
  },
);

test('a pace that leaves an alert gone between two repetitions is refused', () => {
  expect(() => loadSettings('command', { ALERT_RESEND_SECONDS: '3601' })).toThrow('ALERT_RESEND_SECONDS');
});
