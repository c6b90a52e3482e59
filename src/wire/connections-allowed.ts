/**
 * How many connections this process can have open, by its own limit of open files: the system drops what comes beyond
 * that unheard and uncounted, and the store, Kafka and probes go without. Pure but for asking for that limit.
 */
import { operationsConnectionsMax } from '../operations/server';
import { defaultWebhookLimits } from '../webhook/settings';

/** For everything but senders: both stores, Kafka, reads, sinks, probes, operators and the program's own files. */
const otherFiles = 256;

export interface ConnectionsAllowed {
  /** Of the listener for deliveries. */
  senders: number;
  /** Of the operations listener. */
  operations: number;
}

/**
 * Senders have 4096 connections at most, fewer where the limit is lower: 256 files are left to others, and at most three quarters.
 * The operations listener has 512 at most, and no more than half of what senders leave.
 */
export function connectionsAllowed(openFilesMax: number | null = askOpenFilesMax()): ConnectionsAllowed {
  const { connectionsMax } = defaultWebhookLimits;
  if (openFilesMax === null) return { senders: connectionsMax, operations: operationsConnectionsMax };
  const left = Math.max(openFilesMax - otherFiles, Math.floor(openFilesMax / 4));
  const senders = Math.min(connectionsMax, left);
  const operations = Math.min(operationsConnectionsMax, Math.floor((openFilesMax - senders) / 2));
  return { senders, operations };
}

/** Node has raised it as far as it may by now. Null where there is none. */
function askOpenFilesMax(): number | null {
  const report = process.report as typeof process.report & { excludeNetwork: boolean };
  const { excludeNetwork } = report;
  // It would look for the names of all addresses that are connected.
  report.excludeNetwork = true;
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft: number | string } } };
  report.excludeNetwork = excludeNetwork;
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : null;
}
