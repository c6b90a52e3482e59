// The service under a load that stays the same, for as long as is asked: changes announced once, twice and in storms,
// elements that make no sense, strangers, organizations that must accept terms and do, and people who look. What its
// process holds is told by itself, and judged at the end.
import { setTimeout as delay } from 'node:timers/promises';
import { watchOwnDelay } from '../support/own-delay';
import { temporaryFolder } from '../support/service';
import { startSimulator } from '../support/simulator';
import { notificationOf, type Resource, Story } from '../support/story';
import type { Resources } from '../support/tell-resources';
import { type Course, judgeSoak } from './judge-soak';
import { makeRandom, type Random } from './random';

export type SoakReport = {
  seconds: number;
  deliveries: number;
  notifications: number;
  published: number;
  /** Answers by status. */
  answers: Record<string, number>;
  /** Each answer that a steady load does not earn, with its code, its time and how late this process was itself. */
  unearned: string[];
  /** What became of deliveries, as the service counts it: why it refused those that it refused. */
  outcomes: Record<string, number>;
  /** What the service had trouble with, as it said last. */
  troubles: string[];
  samples: number;
  courses: Course[];
};

const perSecond = 40;
/** On a machine that does not keep up the load waits: what piles up would say nothing of the service. */
const underWayMax = 8;
/** A short run on a slow machine goes on until there is something to judge. */
const deliveriesMin = 150;
const stranger = { authorization: 'Basic c3RyYW5nZXI6eA==' };
/** Of whom too many come in a minute. */
const earnedByStrangers = [401, 429];
/** Of what is told at the end. */
const toldMax = 20;
/** However long it lasts, so many samples are enough. */
const samplesWanted = 200;
const sampleMsMin = 250;

/** Starts a provider and a service on the embedded store, and ends both. */
export async function soak({ seconds, seed }: { seconds: number; seed: number }): Promise<SoakReport> {
  const world = { organizations: 4, equipment: 60, 'field-operations': 20, 'heartbeat-ms': 0 };
  const simulator = await startSimulator(world);
  const settings = { LOG_LEVEL: 'warn', ALERT_RESEND_SECONDS: '5' };
  const story = new Story(simulator, { delivers: false, settings }, temporaryFolder());
  try {
    const tellMs = Math.max(sampleMsMin, Math.round((seconds * 1000) / samplesWanted));
    await story.serve({
      entry: 'dist/test/support/serve-and-tell.js',
      settings: { TELL_RESOURCES_MS: String(tellMs) },
    });
    await story.untilLearned();
    const load = makeLoad(story, makeRandom(seed), (await simulator.state()).equipment);
    const endMs = performance.now() + seconds * 1000;
    let nextMs = performance.now();
    while (nextMs < endMs || load.counts.deliveries < deliveriesMin) {
      nextMs = Math.max(nextMs + 1000 / perSecond, performance.now() - 1000);
      await delay(Math.max(0, nextMs - performance.now()));
      load.step();
    }
    await load.ended();
    const samples = story.service
      .records()
      .filter(({ line }) => line === 'resources') as unknown as Resources[];
    const { published } = await story.ledger();
    const told = { outcomes: await outcomesOf(story), troubles: troublesOf(story) };
    const courses = judgeSoak(samples);
    return { seconds, ...load.counts, ...told, published, samples: samples.length, courses };
  } finally {
    await story.end();
  }
}

async function outcomesOf(story: Story): Promise<Record<string, number>> {
  const metrics = await (await fetch(`${story.service.operationsUrl}/metrics`)).text();
  const found = metrics.matchAll(/^tramline_deliveries(?:_total)?\{[^}]*outcome="([^"]+)"[^}]*\} (\d+)/gm);
  return Object.fromEntries([...found].map(([, outcome, count]) => [outcome, Number(count)]));
}

function troublesOf(story: Story): string[] {
  return ['trouble', 'fault']
    .flatMap((line) => story.log(line).slice(-toldMax))
    .map((record) => JSON.stringify(record).slice(0, 500));
}

function makeLoad(story: Story, random: Random, equipment: Resource[]) {
  const counts = {
    deliveries: 0,
    notifications: 0,
    answers: {} as Record<string, number>,
    unearned: [] as string[],
  };
  const beganMs = performance.now();
  const ownDelayMs = watchOwnDelay();
  const underWay = new Set<Promise<void>>();
  const organizations = [...new Set(equipment.map(({ organizationId }) => organizationId))];
  let changes = 0;

  async function send(elements: unknown[], headers: Record<string, string> = {}): Promise<void> {
    const sinceMs = performance.now();
    const delayedMs = ownDelayMs();
    const { status, body } = await story.post(elements, headers);
    counts.deliveries += 1;
    counts.notifications += status === 204 ? elements.length : 0;
    counts.answers[status] = (counts.answers[status] ?? 0) + 1;
    const earned = headers === stranger ? earnedByStrangers : [204];
    if (earned.includes(status) || counts.unearned.length >= toldMax) return;
    const [at, took, late] = [sinceMs - beganMs, performance.now() - sinceMs, ownDelayMs() - delayedMs].map(
      Math.round,
    );
    counts.unearned.push(`${status} at ${at} ms, after ${took} ms (${late} ms of them our own): ${body}`);
  }

  async function change(times: number): Promise<void> {
    const machine = random.pick(equipment);
    changes += 1;
    await story.simulator.changeEquipment(machine.id, { name: `Name ${changes}`, notify: false });
    await send(Array.from({ length: times }, () => notificationOf(machine)));
  }

  async function blockAndFree(): Promise<void> {
    const id = random.pick(organizations);
    await story.simulator.setOrganization(id, { termsAccepted: false });
    await change(2);
    await story.simulator.setOrganization(id, { termsAccepted: true });
  }

  const looks = ['/metrics', '/api/tasks', '/api/organizations', '/api/events?after=0&limit=50', '/readyz'];
  /** Each as often as it says, in a hundred. */
  const kinds: [times: number, act: () => Promise<unknown>][] = [
    [70, () => change(random.between(1, 3))],
    [5, () => change(20)],
    [5, () => send([null, { eventTypeId: 7 }, notificationOf(random.pick(equipment))])],
    [8, () => send([notificationOf(random.pick(equipment))], stranger)],
    [10, () => fetch(`${story.service.operationsUrl}${random.pick(looks)}`).then((answer) => answer.text())],
    [2, blockAndFree],
  ];
  const acts = kinds.flatMap(([times, act]) => Array.from({ length: times }, () => act));

  return {
    counts,
    /** Begins one thing and does not wait for it, unless enough is under way. */
    step(): void {
      if (underWay.size >= underWayMax) return;
      const done: Promise<void> = random
        .pick(acts)()
        .then(
          () => void underWay.delete(done),
          (error: Error) => {
            underWay.delete(done);
            const said = error.message.slice(0, 80);
            counts.answers[said] = (counts.answers[said] ?? 0) + 1;
          },
        );
      underWay.add(done);
    },
    ended: () => Promise.all(underWay),
  };
}

/** The report for a terminal. */
export function soakTable(report: SoakReport): string {
  const { seconds, deliveries, notifications, published, answers, samples, courses } = report;
  const { unearned, outcomes, troubles } = report;
  const megabytes = (bytes: number) => `${(bytes / 1_048_576).toFixed(1)} MB`;
  const said = courses.map(({ quantity, level, rise, perHour, allowed, grows }) => {
    const show =
      quantity === 'resident' || quantity === 'living' ? megabytes : (count: number) => count.toFixed(0);
    const text = `${show(level)}, rises by ${show(rise)} (${show(perHour)} an hour), allowed ${show(allowed)}`;
    return `${quantity.padEnd(10)}${text}${grows ? '  GROWS' : ''}`;
  });
  return [
    `${seconds} s, ${samples} samples: ${deliveries} deliveries, ${notifications} notifications, ${published} published`,
    `answers: ${JSON.stringify(answers)}; as the service counts them: ${JSON.stringify(outcomes)}`,
    ...unearned,
    ...(unearned.length > 0 ? troubles : []),
    ...said,
    '',
  ].join('\n');
}
