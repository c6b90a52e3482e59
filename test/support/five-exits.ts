// What a story says must be the same at all five exits: what senders were answered, what the store holds, what the
// provider was asked, what was published, and what log and metrics tell of it. Holds for a service that has come
// to rest, in a life before which nothing was delivered; knows nothing of what the story was about.
import { type Story, soon } from './story';
import { until } from './until';

/**
 * Throws where two exits of the service disagree. Waits for log lines that are on their way. `bySync`: how many events a sync
 * says that it decided from its listings, without a read.
 */
export async function expectExitsToAgree(story: Story, { bySync = 0 } = {}): Promise<void> {
  const ledger = await story.untilRest();
  const events = await story.events();
  const requests = await story.requestsOfLife();
  const attempts = () => story.log('attempt');
  const deliveries = () => story.log('delivery').filter(({ outcome }) => outcome === 'accepted');
  await story.untilAttemptsTold();
  const accepted = await story.metric('tramline_deliveries_total', { outcome: 'accepted' });
  await until(() => deliveries().length >= accepted, { ...soon, what: 'a line of each delivery' });

  for (const [outcome, { length }] of Map.groupBy(attempts(), (line) => String(line.outcome)))
    expect([outcome, await story.metric('tramline_attempts_total', { outcome })]).toEqual([outcome, length]);

  // Senders were answered 204 as often as a delivery was accepted, and never but then.
  const byProvider = (await story.simulator.deliveries()).map(({ status }) => status);
  const answers = [...story.answers, ...byProvider].filter((status) => status === 204);
  expect(answers).toHaveLength(deliveries().length);

  const counts = ['hints', 'acted', 'ignored', 'quarantined'];
  const heard = deliveries().flatMap((line) => counts.map((name) => Number(line[name])));
  expect(await story.metric('tramline_deliveries_total', { outcome: 'accepted' })).toBe(deliveries().length);
  expect({ accepted: ledger.accepted, lost: ledger.lost }).toEqual({
    accepted: heard.reduce((sum, count) => sum + count, 0),
    lost: 0,
  });

  // What attempts and syncs say that they published is what stands in the log, besides what became known of organizations.
  const published = attempts().flatMap(({ eventIds }) => (eventIds as string[] | undefined) ?? []);
  const ofResources = events.filter(({ type }) => !type.startsWith('io.tramline.organization-access.'));
  const listed = ofResources.filter(({ id }) => !published.includes(id));
  expect(published.toSorted()).toEqual(
    ofResources.flatMap((event) => (listed.includes(event) ? [] : event.id)).toSorted(),
  );
  expect(listed.filter(({ reconciled }) => reconciled === true)).toHaveLength(bySync);
  expect(listed).toHaveLength(bySync);
  expect(new Set(events.map(({ id }) => id)).size).toBe(events.length);

  // Every call that an attempt tells of was received, and nothing was asked that was not signed.
  const calls = attempts().reduce((sum, { calls }) => sum + Number(calls ?? 0), 0);
  expect(requests.length).toBeGreaterThanOrEqual(calls);
  expect(requests.filter(({ verdict }) => !verdict.valid && verdict.reason === 'unsigned')).toEqual([]);

  // Nobody reads a resource but an attempt, or a probe of what was refused; and no call is made that metrics do not tell
  // of. One whose connection died under it may be repeated, as one call.
  const answered = requests.filter(({ status }) => status !== undefined && status !== null);
  const resources = await pathsOfResources(story);
  const told = (labels = {}) => story.metric('http_client_request_duration_seconds_count', labels);
  const probes = await told({ url_template: 'probe' });
  expect(answered.filter(({ path }) => resources.has(path)).length).toBeLessThanOrEqual(calls + probes);
  await until(async () => (await told()) >= answered.length, {
    ...soon,
    what: `metrics to tell of the ${answered.length} calls that were answered`,
  });

  expect(story.log('fault')).toEqual([]);
  expect(await story.metric('tramline_faults_total')).toBe(0);
}

async function pathsOfResources(story: Story): Promise<Set<string>> {
  const { equipment, fieldOperations } = await story.simulator.state();
  return new Set([...equipment, ...fieldOperations].map(({ uri }) => new URL(uri).pathname));
}
