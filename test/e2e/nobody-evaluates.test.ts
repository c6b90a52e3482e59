/**
 * Where the last worker ended a while ago, both commands for the one on call say so, with since when and what to do: what
 * is stored may be over, and nobody is told of what is new. The commands as processes, on a store that a worker has led.
 */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { AlertView, CheckLine } from '../../src/model/api';
import { noService, runCommand } from '../support/command';
import { temporaryFolder } from '../support/service';

test('alerts and check say that no process evaluates alerts, and since when', async () => {
  const file = join(temporaryFolder(), 'tramline.db');
  const environment = { DATABASE_URL: `sqlite:${file}`, TRAMLINE_URL: noService };
  expect((await runCommand(['migrate'], environment)).code).toBe(0);
  const asked = async () => {
    const alerts = JSON.parse((await runCommand(['alerts', '--json'], environment)).out) as AlertView[];
    const lines = JSON.parse((await runCommand(['check', '--json'], environment)).out) as CheckLine[];
    return [alerts, lines.find(({ name }) => name === 'alerts')] as const;
  };
  const write = (sql: string, ...values: number[]) => {
    const database = new DatabaseSync(file);
    expect(database.prepare(sql).run(...values).changes).toBe(1);
    database.close();
  };
  // No worker has run yet: nothing was ever told.
  expect(await asked()).toEqual([[], expect.objectContaining({ state: 'ok', next: null })]);
  // What a worker leaves that was killed a moment ago. Whoever asks first finds it dead, and keeps since when.
  const endedMs = Date.now() - 60_000;
  const insert = `INSERT INTO leases (name, holder, until) VALUES ('alerts', 'gone', ?)`;
  write(insert, Date.now() + 15_000);
  expect((await asked())[0]).toEqual([]);
  write(`UPDATE leases SET until = ? WHERE name = 'alerts' AND until <= ?`, endedMs, Date.now());
  const [alerts, line] = await asked();
  expect(alerts).toMatchObject([
    {
      name: 'TramlineWorkersAbsent',
      severity: 'critical',
      annotations: { first_step: expect.stringMatching(/^Start a worker/) },
    },
  ]);
  expect(Math.abs(Date.parse(alerts[0]!.since) - endedMs)).toBeLessThan(5000);
  expect(line).toMatchObject({ state: 'warning', next: expect.stringMatching(/^Start a worker/) });
});
