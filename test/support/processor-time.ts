// What work costs, for tests of input that is made to cost much: compared within one run with harmless input of the same
// bytes, so that neither the speed of the machine nor what else runs on it decides.

/** In microseconds, of this process alone. */
export function processorTimeOf(work: () => void): number {
  const before = process.cpuUsage();
  work();
  return since(before);
}

/** The same of work that waits in between. */
export async function processorTimeDuring(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  return since(before);
}

function since(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
