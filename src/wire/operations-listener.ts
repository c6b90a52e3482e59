/**
 * Joins the operations listener: the API of this process, its health and its metrics. A command beside no service has the
 * API without it, and loads the check of Kafka when it is asked for one: here it is loaded at the start, since files may be of
 * another version later, or none may be opened.
 */
import './topics';
import type { LoadedSettings } from '../config';
import type { Store } from '../model/store';
import type { Health } from '../observe/health';
import type { Observer } from '../observe/observer';
import { makeOperationsServer, type OperationsServer } from '../operations/server';
import type { Worker } from '../wire';
import { apiOf } from './operations';
import type { OwnProvider } from './provider';

export interface OperationsParts {
  store: Store;
  observer: Observer;
  health: Health;
  /** Who works here; in a receiver, which reads nothing, what it has of its own. */
  by: Worker | OwnProvider;
  /** Of this listener. */
  connectionsMax: number;
}

/**
 * The operations listener of this process, not listening yet; without a worker of its own it has no sync and no replay.
 * Bounds as `apiOf` does.
 */
export function operationsOf(loaded: LoadedSettings, parts: OperationsParts): OperationsServer {
  const { observer, health, by } = parts;
  const answering = 'pipeline' in by ? by : { own: by, sync: null, replay: null, standIn: null };
  const doors = {
    api: apiOf(loaded, parts.store, answering, (alert) => observer.log.alert(alert)),
    health,
    metricsText: () => observer.metricsText(),
    token: loaded.settings.operationsToken,
    fault: (error: unknown) => observer.fault('operations', error),
  };
  return makeOperationsServer(doors, parts.connectionsMax);
}
