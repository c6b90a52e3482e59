// What the bench says to its generator, and what that answers. The generator's process is started here and given the
// list of resources as a file.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Asked, forkChild } from './child';

/** The organization's id and the address at which the provider has it. */
export type Resource = [organizationId: string, address: string];

interface Target {
  port: number;
  authorization: string;
  connections: number;
  /** The first resource of the list that is notified. */
  from: number;
}

/** Deliveries of so many elements each; `untilMs` ends it before. */
export interface Burst extends Target {
  deliveries: number;
  elements: number;
  untilMs?: number;
  /** How many resources are notified; when there are more notifications, they come round again. */
  distinct: number;
}

export interface Paced extends Target {
  perSecond: number;
  seconds: number;
}

export type Question = { load: string } | Burst | Paced;

export interface Answer {
  /** Deliveries that were answered 204. */
  posted: number;
  tookMs: number;
  /** Of each delivery of a paced run, in the order of the answers; milliseconds since the epoch. */
  times: { id: string; postedAtMs: number; acceptedAtMs: number }[];
}

export interface Generator {
  burst(question: Burst): Promise<Answer>;
  paced(question: Paced): Promise<Answer>;
  stop(): Promise<void>;
}

export async function startGenerator(resources: Resource[], folder: string): Promise<Generator> {
  const file = join(folder, `resources-${process.hrtime.bigint()}.json`);
  writeFileSync(file, JSON.stringify(resources));
  const child: Asked = forkChild('bench/programs/generate');
  await child.ask({ load: file });
  return {
    burst: (question) => child.ask<Answer>(question),
    paced: (question) => child.ask<Answer>(question),
    stop: child.stop,
  };
}
