// The named steps at which a process is struck, by what, and in which order they are come to. Pure, but for the chance it
// is given.
import type { Failpoint } from '../support/serve-with-failpoints';
import type { Random } from './random';
import type { Actor, AtStep } from './stage';

export const failpoints: Failpoint[] = [
  'S1 received',
  'S2 verified',
  'S3 stored',
  'S4 answered',
  'S5 claimed',
  'S6 renewed',
  'S7 fetched',
  'S8 decided',
  'S9 acknowledged',
  'S9 repeated',
  'S10 marked',
  'A1 alert saved',
  'A2 alert posted',
];

/** What must be struck, and by what: it ends, is told to end, or stands still, also beyond the leases it holds. */
export type Strike = Pick<AtStep, 'failpoint' | 'signal'> & { isLong: boolean };

/**
 * A process that stands still beyond its lease while others take over what it owns, and goes on with it: with tasks that
 * it has read, and, as the one that publishes for all, with records that Kafka has and that are not marked yet.
 */
const zombies: Strike[] = (['S7 fetched', 'S9 acknowledged'] as const).map((failpoint) => ({
  failpoint,
  signal: 'SIGSTOP',
  isLong: true,
}));

/** Of the other signals at steps, a run that has no time for all is given so many. */
const othersFew = 4;

/**
 * Each step by SIGKILL first, then the owners that stand still; then SIGTERM and SIGSTOP at steps, as chance orders them: each
 * of them at each step, or the first few for a run that has no time for all.
 */
export function planStrikes(random: Random, comesToAll: boolean): Strike[] {
  const kills = failpoints.map((failpoint): Strike => ({ failpoint, signal: 'SIGKILL', isLong: false }));
  const others = failpoints.flatMap((failpoint): Strike[] => {
    const stop: Strike = { failpoint, signal: 'SIGTERM', isLong: false };
    const stands = zombies.some((zombie) => zombie.failpoint === failpoint);
    return stands ? [stop] : [stop, { failpoint, signal: 'SIGSTOP', isLong: false }];
  });
  const order = new Map(others.map((strike) => [strike, random.next()]));
  others.sort((one, other) => order.get(one)! - order.get(other)!);
  return [...kills, ...zombies, ...others.slice(0, comesToAll ? others.length : othersFew)];
}

export function nameOf({ failpoint, signal, isLong }: Strike): string {
  if (signal === 'SIGKILL') return `at ${failpoint}`;
  return `at ${failpoint}, ${signal}${isLong ? ' beyond the lease' : ''}`;
}

export const works = ({ role }: Pick<Actor, 'role'>): boolean => role !== 'receiver';

/** Steps of the one that pages for all. */
export const pages = (failpoint: Failpoint): boolean => /^A\d /.test(failpoint);

/** Steps to which only the one comes that renews, publishes or pages for all. */
export const leads = (failpoint: Failpoint): boolean =>
  pages(failpoint) || /^(S6|S8|S9|S10) /.test(failpoint);

/** Only whoever receives comes to the steps of acceptance, and only whoever works to the others. */
export function canReach({ role }: Pick<Actor, 'role'>, failpoint: Failpoint): boolean {
  return role === 'all' || /^S[1-4] /.test(failpoint) === (role === 'receiver');
}
