// How processes begin on a store that has just taken the place of another: undisturbed, killed soon, killed at a named step
// of reading on or of the path, or with one that stands still at such a step while the others go on. All run at its end.
import { setTimeout as delay } from 'node:timers/promises';
import type { Failpoint } from '../support/serve-with-failpoints';
import type { Chaos } from './chaos';
import type { Random } from './random';
import type { Actor, Stage } from './stage';
import { works } from './steps';

const killedAt: Failpoint[] = [
  'R1 found',
  'R1 found',
  'R2 read on',
  'S5 claimed',
  'S7 fetched',
  'S8 decided',
  'S9 acknowledged',
  'S10 marked',
];
/** With a read in hand, a page that was noted, or records that Kafka has. */
const standsAt: Failpoint[] = ['S7 fetched', 'S7 fetched', 'R1 found', 'S9 acknowledged'];

/** Longer than it takes to come to any of these steps, unless another process has come there first. */
const stepWaitMs = 6000;

/** Says what was done. Whoever ends without being asked to is a complaint. */
export async function beginLife(stage: Stage, random: Random, chaos: Chaos): Promise<string> {
  const how = random.pick([begin, killSoon, killSoon, killAtStep, killAtStep, standStill]);
  return how(stage, random, chaos);
}

const startAll = (stage: Stage, actors: Actor[] = stage.actors) =>
  Promise.all(actors.map((actor) => stage.start(actor)));

async function begin(stage: Stage): Promise<string> {
  await startAll(stage);
  return 'undisturbed';
}

/** Once or twice, all or some of them. */
async function killSoon(stage: Stage, random: Random): Promise<string> {
  await startAll(stage);
  const times = random.between(1, 2);
  for (let time = 0; time < times; time += 1) {
    await delay(random.between(0, 1500));
    const fallen = stage.actors.filter(() => random.chance(0.8));
    await Promise.all(fallen.map((actor) => end(actor)));
    await startAll(stage, fallen);
  }
  return `killed ${times} times soon after`;
}

async function end(actor: Actor): Promise<void> {
  const { signal, code } = await actor.service!.kill();
  if (signal === 'SIGKILL') return;
  const last = actor.service!.lines().slice(-3).join(' | ').slice(0, 2000);
  actor.complaints.push(`${actor.role} ended before it was killed, with ${code}: ${last}`);
}

/** One that works goes there alone, so that it leads. */
async function killAtStep(stage: Stage, random: Random): Promise<string> {
  const actor = random.pick(stage.actors.filter(works));
  const failpoint = random.pick(killedAt);
  await stage.start(actor, { failpoint, signal: 'SIGKILL' });
  const receivers = stage.actors.filter((other) => !works(other));
  await startAll(stage, receivers);
  const ended = await Promise.race([actor.service!.exited, delay(stepWaitMs, null, { ref: false })]);
  await end(actor);
  await startAll(
    stage,
    stage.actors.filter((other) => !receivers.includes(other)),
  );
  return `${ended === null ? 'not ' : ''}killed at ${failpoint}`;
}

/** It goes on when the others have had time to do what it began. */
async function standStill(stage: Stage, random: Random, chaos: Chaos): Promise<string> {
  const actor = random.pick(stage.actors.filter(works));
  const failpoint = random.pick(standsAt);
  await stage.start(actor, { failpoint, signal: 'SIGSTOP' });
  const { lines } = actor.service!;
  const isThere = () => lines().some((line) => line.startsWith('{"failpoint"'));
  const others = startAll(
    stage,
    stage.actors.filter((other) => other !== actor),
  );
  for (let waited = 0; waited < stepWaitMs && !isThere(); waited += 20) await delay(20);
  // It has stopped itself, or is stopped where it is.
  chaos.standStill(actor);
  await others;
  const isLong = random.chance(0.5);
  await delay(isLong ? random.between(3000, 6000) : random.between(200, 1500));
  chaos.goOn(actor);
  await delay(random.between(0, 1000));
  await end(actor);
  await stage.start(actor);
  return isThere() ? `stood still at ${failpoint}` : `not stood still at ${failpoint}`;
}
