/**
 * How many connections of senders this process can have open, by its own limit of open files: the system drops what comes beyond
 * that unheard and uncounted, and the store, Kafka and probes go without. Pure but for asking for that limit.
 */
import { defaultWebhookLimits } from '../webhook/settings';

/** For everything else: both stores, Kafka, reads, sinks, probes and the program's own files. */
const otherFiles = 256;

/** Senders have 4096 connections at most, fewer where the limit is lower: 256 files are left to others, and at most three quarters. */
export function connectionsAllowed(openFilesMax: number | null = askOpenFilesMax()): number {
  const { connectionsMax } = defaultWebhookLimits;
  if (openFilesMax === null) return connectionsMax;
  const left = Math.max(openFilesMax - otherFiles, Math.floor(openFilesMax / 4));
  return Math.min(connectionsMax, left);
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
