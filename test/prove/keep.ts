// What a proof that found something was judged by, kept for whoever looks for the reason: the stores and brokers are gone
// by then.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Writes each of them as JSON, a file each, to a new folder that nobody removes. Its path. */
export function keepEvidence(evidence: Record<string, unknown>): string {
  const folder = mkdtempSync(join(tmpdir(), 'tramline-proof-'));
  for (const [name, value] of Object.entries(evidence))
    writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(value, asJson, 1)}\n`);
  return folder;
}

function asJson(_name: string, value: unknown): unknown {
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...value];
  return typeof value === 'bigint' ? String(value) : value;
}
