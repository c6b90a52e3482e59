// Goal: whatever pace of repetition is set, Alertmanager ends nothing between two of them, and is told of each end.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { plainMessage } from '../../../src/alert/plain-text';
import { loadSettings } from '../../../src/config';
import {
  alertingOptions,
  alertmanagerOptions,
  providerOptions,
  storeOptions,
} from '../../../src/wire/options';

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

test('the link of a page leads to the runbooks: where deliveries arrive there is nothing to see', () => {
  const { settings } = loadSettings('command', { PUBLIC_URL: 'https://tramline.example.org' });
  const { generatorUrl } = alertmanagerOptions(settings, ['http://127.0.0.1:9093']);
  expect(generatorUrl).toBe(alertingOptions(settings).runbookBase);
});

test('runbooks are where they are said to be published, with or without a slash at the end', () => {
  const baseOf = (environment: Record<string, string>) =>
    alertingOptions(loadSettings('command', environment).settings).runbookBase;
  expect(baseOf({})).toMatch(/^https:\/\/.+\/deploy\/runbooks$/);
  expect(baseOf({ ALERT_RUNBOOK_URL: 'https://wiki.example/on-call/' })).toBe('https://wiki.example/on-call');
  expect(() => baseOf({ ALERT_RUNBOOK_URL: 'https://wiki.example/?page=' })).toThrow('ALERT_RUNBOOK_URL');
});

test('a page names the file that somebody has to put back, also where a link leads to it', () => {
  const folder = join(realpathSync(mkdtempSync(join(tmpdir(), 'tramline-options-'))), 'pvc-0123456789abcdef');
  mkdirSync(folder);
  writeFileSync(join(folder, 'store.db'), '');
  symlinkSync(join(folder, 'store.db'), join(folder, 'link.db'));
  const shown = (name: string, told: string) => {
    const { settings } = loadSettings('command', { DATABASE_URL: `sqlite:${join(folder, name)}` });
    return plainMessage(`${join(folder, told)} is away`, 300, alertingOptions(settings).ownNames);
  };
  expect(plainMessage(`${folder}/store.db is away`, 300)).toContain('[hidden]');
  expect(shown('store.db', 'store.db-wal')).toBe(`${folder}/store.db-wal is away`);
  expect(shown('link.db', 'store.db')).toBe(`${folder}/store.db is away`);
  expect(shown('store', 'store-wal')).toBe(`${folder}/store-wal is away`);
  symlinkSync(folder, join(folder, 'linked'));
  expect(shown('linked/first.db', 'first.db-wal')).toBe(`${folder}/first.db-wal is away`);
  rmSync(dirname(folder), { recursive: true });
  expect(shown('store.db', 'store.db')).toBe(`${folder}/store.db is away`);
});

test('a pace that leaves an alert gone between two repetitions is refused', () => {
  expect(() => loadSettings('command', { ALERT_RESEND_SECONDS: '3601' })).toThrow('ALERT_RESEND_SECONDS');
});

test('the log of events takes what it may, and never more than half of the store', () => {
  const bound = (settings: Record<string, string>) => {
    const options = storeOptions(loadSettings('command', settings).settings);
    return options.eventBytesMax;
  };
  expect(bound({})).toBe(10 * 2 ** 30);
  expect(bound({ EVENT_BYTES_MAX: '2000000' })).toBe(2_000_000);
  expect(bound({ STORE_BYTES_MAX: '5000001', EVENT_BYTES_MAX: '4000000' })).toBe(2_500_000);
  expect(() => loadSettings('command', { EVENT_BYTES_MAX: '0' })).toThrow('EVENT_BYTES_MAX');
});

test('what the provider is asked for in units and yields, and how long a list may be, is set', () => {
  const provider = {
    PROVIDER_VENDOR: 'acme',
    PROVIDER_URL: 'https://api.example.org/platform/',
    PROVIDER_EQUIPMENT_URL: 'https://equipment.example.org/isg',
    PROVIDER_CLIENT_KEY: 'key',
    PROVIDER_CLIENT_SECRET: 'secret',
  };
  const asked = (more: Record<string, string>) => {
    const { settings } = loadSettings('command', { ...provider, ...more });
    const { unitSystem, yieldPreference, pagesMax } = providerOptions(settings);
    return [unitSystem, yieldPreference, pagesMax];
  };
  expect(asked({})).toEqual(['metric', null, 10_000]);
  expect(
    asked({
      PROVIDER_UNIT_SYSTEM: 'none',
      PROVIDER_YIELD_PREFERENCE: 'volume',
      PROVIDER_PAGES_MAX: '12',
    }),
  ).toEqual([null, 'volume', 12]);
  expect(() => loadSettings('command', { PROVIDER_UNIT_SYSTEM: 'imperial' })).toThrow('PROVIDER_UNIT_SYSTEM');
});
