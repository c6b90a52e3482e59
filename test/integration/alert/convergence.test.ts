// Goal: whatever fails in between, on-call's state becomes the true state, with one incident for each cause.
// Method: a seeded random run of 500 blocks and their acceptances, with restarts of the service and hard stops of a real
// Alertmanager, and a PagerDuty that refuses a fifth of all events for now, at ALERT_RESEND_SECONDS=1. On-call's state is
// what the receiver was told last of each label set, and which incidents PagerDuty has open.
import { setTimeout as delay } from 'node:timers/promises';
import { makeAlerting } from '../../../src/alert/alerting';
import { makeAlertmanagerSink } from '../../../src/alert/alertmanager';
import { makePagerDutySink } from '../../../src/alert/pagerduty';
import type { Cause } from '../../../src/model/organization';
import { systemClock } from '../../../src/tools/clock';
import { Secret } from '../../../src/tools/secret';
import {
  type Alertmanager,
  alertmanagerAvailable,
  type NotificationRecorder,
  recordNotifications,
  startAlertmanager,
} from '../../support/alertmanager';
import { makeMemoryAlerts } from '../../support/memory-alerts';
import { describeWithNeighbour } from '../../support/neighbour';
import { type PagerDutyServer, startPagerDuty } from '../../support/pager-server';
import { until } from '../../support/until';
import { aBlocked } from '../../unit/alert/samples';

const seed = 20_260_301;
const blocks = 500;
const resendMs = 1000;
const holdMs = 1000;
const causes: Cause[] = ['terms', 'required-action', 'not-connected'];

/** Mulberry32: the same run for the same seed. */
function randomFrom(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

describeWithNeighbour('Alertmanager', alertmanagerAvailable(), 'a random run', () => {
  let recorder: NotificationRecorder;
  let manager: Alertmanager;
  let pagerDuty: PagerDutyServer;
  /** How many notifications there were when it was started again after each hard stop. */
  const hardStops: number[] = [];
  const store = makeMemoryAlerts();
  const random = randomFrom(seed);
  let isRunning = true;

  beforeAll(async () => {
    recorder = await recordNotifications();
    pagerDuty = await startPagerDuty('key');
    manager = await startAlertmanager({ webhookUrl: recorder.url });
  });
  afterAll(async () => {
    isRunning = false;
    await manager.stop();
    await recorder.stop();
    await pagerDuty.stop();
  });

  const make = () =>
    makeAlerting({
      store,
      holder: 'a',
      sinks: [
        makeAlertmanagerSink({ urls: [manager.url], openMs: holdMs }),
        makePagerDutySink({ url: pagerDuty.url, routingKey: new Secret('key'), clientUrl: null }),
      ],
      clock: systemClock,
      conditions: () => [],
      options: {
        ...{ resendMs, holdMs, groupAbove: blocks, gatherMs: 100, resolveRepeatMs: 600_000 },
        ...{ journalMs: 30 * 86_400_000, runbookBase: 'https://runbooks.example', ownNames: [] },
      },
      random: () => 0,
    });

  /** Which incidents are open as far as on-call was told, and what was told as new while it was open. */
  function told() {
    const open = new Map<string, number>();
    const again: string[] = [];
    recorder.notifications.forEach(({ alerts }, index) => {
      // Alertmanager itself forgets at a hard stop what it has told.
      const life = hardStops.filter((count) => count <= index).length;
      for (const { status, labels } of alerts) {
        const incident = `${labels.alertname} ${labels.organization_id}`;
        if (status === 'resolved') open.delete(incident);
        else {
          if (open.get(incident) === life) again.push(incident);
          open.set(incident, life);
        }
      }
    });
    return { open: [...open.keys()].sort().join(), again };
  }

  const paged = () =>
    [...pagerDuty.incidents]
      .filter(([, incident]) => incident.open)
      .map(([key]) => key.replace(/^tramline (\w+)\{organization_id="(\d+)"\}$/, '$1 $2'))
      .sort()
      .join();

  const names: Partial<Record<Cause, string>> = {
    terms: 'TramlineTermsRequired',
    'required-action': 'TramlineRequiredAction',
    'not-connected': 'TramlineOrganizationNotConnected',
  };
  const truth = () =>
    store.inputs.blocked
      .map(({ cause, organizationId }) => `${names[cause]} ${organizationId}`)
      .sort()
      .join();

  const converged = (what: string) => {
    // What flaps is held for longer each time; two intervals begin when the hold is over.
    const held = Math.max(...store.rows().map(({ returns }) => holdMs * Math.min(2 ** returns, 16)), holdMs);
    const withinMs = held + 2 * resendMs + 3000;
    return until(() => told().open === truth() && paged() === truth(), {
      withinMs,
      what: `${what} (seed ${seed})`,
    });
  };

  test('500 blocks, acceptances, restarts and hard stops end in the true state', async () => {
    let alerting = make();
    const loop = (async () => {
      while (isRunning) {
        await alerting.step();
        await delay(25);
      }
    })();
    let begun = 0;
    let restarts = 0;
    while (begun < blocks) {
      const { blocked } = store.inputs;
      for (let count = Math.floor(random() * 12); count > 0 && begun < blocks; count -= 1) {
        const organizationId = `${Math.floor(random() * 300)}`;
        if (blocked.some((one) => one.organizationId === organizationId)) continue;
        const cause = causes[Math.floor(random() * causes.length)] as Cause;
        blocked.push(aBlocked({ organizationId, cause, sinceMs: Date.now() }));
        begun += 1;
      }
      store.inputs.blocked = blocked.filter(() => random() > 0.03);
      pagerDuty.next = random() < 0.2 ? [{ status: 503 }, { status: 429 }] : [];
      if (random() < 0.1) {
        alerting = make();
        restarts += 1;
      }
      if (random() < 0.06) {
        await manager.kill();
        // What it sent last may still be on its way.
        await delay(100 + random() * 1400);
        hardStops.push(recorder.notifications.length);
        await manager.restart();
      }
      if (random() < 0.05) await converged(`on-call to agree after ${begun} blocks`);
      await delay(50);
    }
    pagerDuty.next = [];
    expect([restarts > 2, hardStops.length > 2]).toEqual([true, true]);
    await converged('on-call to agree at the end');
    store.inputs.blocked = [];
    await converged('every incident to be over');
    isRunning = false;
    await loop;
    expect(told()).toEqual({ open: '', again: [] });
  }, 240_000);
});
