// Sessions of a database that stand still in the middle of a transaction, one after the other and each for a moment, as they do
// on a machine that gives them no core: what others do meanwhile comes between two of its statements.
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import type { Random } from './random';

/** Ends it; all sessions go on. */
export type EndStutter = () => Promise<void>;

/** `url`: of another database of the same server, whose processes this one may signal. */
export async function stutter(url: string, database: string, random: Random): Promise<EndStutter> {
  const client = new Client({ connectionString: url });
  await client.connect();
  let goesOn = true;

  /** The one that has been at it for longest, or any. */
  async function pick(): Promise<number | undefined> {
    const { rows } = await client.query<{ pid: number }>(
      'SELECT pid FROM pg_stat_activity WHERE datname = $1 AND xact_start IS NOT NULL ORDER BY xact_start',
      [database],
    );
    if (rows.length === 0) return undefined;
    return random.chance(0.5) ? rows[0]!.pid : random.pick(rows).pid;
  }

  async function work(): Promise<void> {
    while (goesOn) {
      const pid = await pick();
      if (pid === undefined) await delay(2);
      else await standStill(pid, random.between(20, 300));
    }
  }

  const working = work();
  working.catch(() => {});
  return async () => {
    goesOn = false;
    await working;
    await client.end();
  };
}

async function standStill(pid: number, ms: number): Promise<void> {
  signal(pid, 'SIGSTOP');
  await delay(ms);
  signal(pid, 'SIGCONT');
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Its session has ended meanwhile.
  }
}
