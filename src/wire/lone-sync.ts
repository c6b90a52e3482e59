/**
 * A sync or a replay for a command beside no service: the worker of one is joined on the opened store when it is first asked for,
 * and nothing of it is started but these. What was decided is sent before the command ends.
 */
import { randomUUID } from 'node:crypto';
import type { LoadedSettings } from '../config';
import type { Store } from '../model/store';
import type * as ObserverOf from '../observe/observer';
import type { ApiDoors } from '../operations/api';
import { idleView } from '../sync/progress';
import { type Loop, systemClock } from '../tools/clock';
import type * as Wire from '../wire';
import type { Worker } from '../wire';
import { pauseLoop } from './heed-pause';

export interface LoneSync {
  door: NonNullable<ApiDoors['sync']>;
  replay: NonNullable<ApiDoors['replay']>;
  close(): Promise<void>;
}

export function makeLoneSync({ settings }: LoadedSettings, store: Store): LoneSync {
  let opening: Promise<Worker> | null = null;
  let worker: Worker | null = null;
  let heeding: Loop | null = null;

  async function open(): Promise<Worker> {
    // All that a worker is made of: most commands ask for neither.
    const { makeObserver } = require('../observe/observer') as typeof ObserverOf;
    const { wireWorker } = require('../wire') as typeof Wire;
    const observer = makeObserver({
      log: { level: 'silent', service: settings.otelServiceName, nowMs: systemClock.nowMs },
      telemetry: {
        service: settings.otelServiceName,
        version: '',
        instance: randomUUID(),
        resourceAttributes: null,
        exportTraces: false,
        samplerGiven: false,
        exportMetrics: null,
      },
      gauges: {
        ready: () => store.ready(),
        counts: () => store.counts(),
        alerts: async () => ({ firing: { critical: 0, warning: 0, info: 0 }, over: [], unattendedMs: 0 }),
        syncs: async () => ({ wholeAgeMs: null, unread: 0 }),
        endedByFaultMs: async () => null,
      },
      topics: [],
    });
    worker = await wireWorker(settings, store, observer);
    // Other processes on the store may be asked for a pause while it lasts.
    heeding = pauseLoop({ store }, worker.pipeline, systemClock);
    heeding.start();
    return worker;
  }

  return {
    door: {
      async begin(wanted) {
        opening ??= open();
        return (await opening).sync.begin(wanted);
      },
      view: () => worker?.sync.view() ?? idleView(),
    },
    replay: {
      async begin(wanted) {
        opening ??= open();
        return (await opening).replay.begin(wanted);
      },
      view: (startedAt) => worker!.replay.view(startedAt),
    },
    async close() {
      await heeding?.stop();
      await worker?.stop(settings.shutdownSeconds * 1000);
    },
  };
}
