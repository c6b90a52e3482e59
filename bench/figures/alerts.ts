// What the one on call sees of 10,000 organizations at a provider that answers in 5 ms, by the posts that an
// Alertmanager gets: from a notification whose read is refused to the page, ten times; then 5,000 organizations that fail
// at once: how many incidents are open at any time until all are known, and in the round after, and how many posts that
// takes; then, with all but ten blocked, those ten pages again, of another cause, which no incident of many swallows; then
// the calls of a minute in which the blocked organizations are probed, against the budget. One run each.
import { until } from '../../test/support/until';
import { accessReached, requireAction, setTerms } from '../access';
import { type AlertSink, startAlertSink } from '../alert-sink';
import { type Generator, type Resource, startGenerator } from '../deliveries';
import { type Figure, type Line, line } from '../figure';
import { percentile } from '../measure';
import { equipmentOf, type Place, type Receiver, type Simulator } from '../place';

const organizations = 10_000;
const atOnce = 5_000;
const pages = 10;
const minuteMs = 60_000;
/** PROBES_PER_MINUTE as it ships. */
const probesPerMinute = 3_000;
/** With 10,000 that wait for theirs the budget is spent, or what was measured is no round of probes. */
const probesMin = 2_700;

export const alerts: Figure = { name: 'alerts', measure };

interface Stage {
  provider: Simulator;
  service: Receiver;
  sink: AlertSink;
  generator: Generator;
  resources: Resource[];
  authorization: string;
}

async function measure(place: Place): Promise<Line[]> {
  const stage = await makeStage(place);
  const { provider } = stage;
  try {
    const page = await pageTimes(stage, 'block → page, the slowest of ten', 0, (id) =>
      setTerms(provider, [id], false),
    );
    const storm = await failAtOnce(stage);
    await blockRest(stage);
    const late = await pageTimes(stage, '… with the others blocked', organizations - pages, (id) =>
      requireAction(provider, id),
    );
    const probes = await probeMinute(stage);
    return [page, ...storm, late, ...probes];
  } finally {
    await stage.generator.stop();
    await stage.service.kill();
    await stage.provider.kill();
    await stage.sink.stop();
  }
}

async function makeStage(place: Place): Promise<Stage> {
  const sink = await startAlertSink();
  const provider = await place.simulate({ organizations, equipment: 1, fieldOperations: 0 });
  const service = await place.serve({
    ...provider.environment,
    ALERTMANAGER_URLS: sink.url,
    SYNC_INTERVAL_SECONDS: '0',
  });
  const resources = await equipmentOf(provider);
  const generator = await startGenerator(resources, place.folder);
  const stage = {
    provider,
    service,
    sink,
    generator,
    resources,
    authorization: provider.environment.WEBHOOK_AUTHORIZATION as string,
  };
  await accessReached(service, 'active', organizations);
  return stage;
}

/** Their customers take the acceptance of terms back, and one resource of each is notified. */
function block({ provider, resources }: Stage, from: number, count: number): Promise<void> {
  const ids = resources.slice(from, from + count).map(([id]) => id);
  return setTerms(provider, ids, false);
}

async function notify({ generator, service, authorization }: Stage, from: number, count: number) {
  const connections = Math.min(64, count);
  const common = { port: service.port, authorization, connections, elements: 1 };
  await generator.burst({ ...common, deliveries: count, from, distinct: count });
}

async function pageTimes(
  stage: Stage,
  figure: string,
  from: number,
  blockOne: (id: string) => Promise<void>,
): Promise<Line> {
  const tookMs: number[] = [];
  for (let index = from; index < from + pages; index += 1) {
    const id = (stage.resources[index] as Resource)[0];
    await blockOne(id);
    const postedAtMs = performance.now();
    await notify(stage, index, 1);
    const page = await until(() => stage.sink.firstOf(id), {
      withinMs: 30_000,
      everyMs: 5,
      what: `page of ${id}`,
    });
    tookMs.push(page.atMs - postedAtMs);
  }
  const slowest = percentile(tookMs, 1);
  return line({
    figure,
    measured: slowest,
    floor: null,
    unit: 'ms',
    judged: slowest,
    bound: { kind: 'at most', value: 2000, of: 'ms' },
    turns: { tookMs },
  });
}

async function failAtOnce(stage: Stage): Promise<Line[]> {
  const { sink, service } = stage;
  await block(stage, pages, atOnce);
  const beganMs = performance.now();
  await notify(stage, pages, atOnce);
  await accessReached(service, 'terms-required', pages + atOnce);
  const blockedAfterMs = performance.now() - beganMs;
  // The budget of probes may need longer than a minute: a round of re-sending after it counts as well.
  const watchedMs = Math.max(2 * minuteMs, blockedAfterMs + minuteMs);
  await until(() => performance.now() - beganMs >= watchedMs, {
    withinMs: watchedMs + minuteMs,
    everyMs: 100,
    what: 'the incident to be re-sent',
  });
  const posts = sink.between(beganMs, beganMs + minuteMs).length;
  const later = Array.from({ length: Math.ceil(watchedMs / minuteMs) - 1 }, (_, index) => index + 1);
  const round = Math.max(
    ...later.map((at) => sink.between(beganMs + at * minuteMs, beganMs + (at + 1) * minuteMs).length),
  );
  // Those that were paged before are open in their own right.
  const before = sink.openAt(beganMs, 0);
  const open = Math.max(
    ...sink.between(beganMs, beganMs + watchedMs).map(({ atMs }) => sink.openAt(atMs, beganMs)),
  );
  const one = { floor: null, turns: { blockedAfterMs, before } };
  return [
    line({
      figure: '5,000 organizations at once: the most incidents open',
      ...one,
      measured: open,
      unit: 'incidents',
      judged: open,
      bound: { kind: 'at most', value: 3, of: 'incidents' },
    }),
    line({
      figure: '… posts in the first minute',
      ...one,
      measured: posts,
      unit: 'posts',
      judged: posts,
      bound: { kind: 'at most', value: 10, of: 'posts' },
    }),
    line({
      figure: '… posts in any minute after it, one round',
      ...one,
      measured: round,
      unit: 'posts',
      judged: round,
      bound: { kind: 'at most', value: 10, of: 'posts' },
    }),
  ];
}

/** All but the last ten. */
async function blockRest(stage: Stage): Promise<void> {
  const from = pages + atOnce;
  const rest = organizations - from - pages;
  await block(stage, from, rest);
  await notify(stage, from, rest);
  await accessReached(stage.service, 'terms-required', organizations - pages);
}

/** Blocked organizations have nothing read: whatever the provider is asked in this minute is a probe. */
async function probeMinute(stage: Stage): Promise<Line[]> {
  const before = await requestsOf(stage.provider);
  const beganMs = performance.now();
  await until(() => performance.now() - beganMs >= minuteMs, {
    withinMs: 2 * minuteMs,
    everyMs: 50,
    what: 'a minute to pass',
  });
  const asked = (await requestsOf(stage.provider)) - before;
  const one = { measured: asked, floor: null, unit: 'calls', judged: asked };
  return [
    line({
      figure: '10,000 blocked organizations: calls in a minute',
      ...one,
      bound: { kind: 'at most', value: probesPerMinute, of: 'calls' },
      turns: { asked },
    }),
    line({
      figure: '… of which the budget was there to be used',
      ...one,
      bound: { kind: 'at least', value: probesMin, of: 'calls' },
      turns: {},
    }),
  ];
}

async function requestsOf({ control }: Simulator): Promise<number> {
  const counts = (await (await fetch(new URL('counts', control))).json()) as { requests: number };
  return counts.requests;
}
