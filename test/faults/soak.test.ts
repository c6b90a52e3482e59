/**
 * A steady mixed load for SOAK_SECONDS: what the process holds stays as it is. Seconds here, an hour by `npm run soak`. A
 * server that loses something is told by the same judge (test/house/soak-judge.test.ts).
 */
import { soak, soakTable } from '../prove/soak';
import { lasts, minuteMs } from '../support/real-durations';

const seconds = Number(process.env.SOAK_SECONDS ?? lasts(6000, 60 * minuteMs) / 1000);

test(
  'R8: under a steady load memory, timers, handles and files stay flat',
  async () => {
    const report = await soak({ seconds, seed: 1 });
    const isSteady = report.courses.every(({ grows }) => !grows) && report.unearned.length === 0;
    if (!isSteady) throw new Error(soakTable(report));
    expect(report.courses).toHaveLength(5);
    // The last of strangers, of whom too many come where it lasts.
    expect(Object.keys(report.answers).filter((answer) => answer !== '429')).toEqual(['204', '401']);
    expect(report.outcomes).toMatchObject({ accepted: report.answers['204'] });
    expect(report.notifications).toBeGreaterThan(10 * seconds);
    expect(report.published).toBeGreaterThan(0);
  },
  (seconds + 60) * 1000,
);
