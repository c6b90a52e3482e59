// Organizations that may or may not be read: what their customers do about terms, and waiting until the service knows.
import { until } from '../test/support/until';
import type { Receiver, Simulator } from './place';

const patchesAtOnce = 16;
const reachedMsMax = 300_000;

/** Their customers accept the terms, or take that back. */
export async function setTerms(provider: Simulator, ids: string[], termsAccepted: boolean): Promise<void> {
  await eachOf(ids, (id) => change(provider, id, { termsAccepted }));
}

/** The provider requires an action of its customer other than terms, and names no place for it. */
export async function requireAction(provider: Simulator, id: string): Promise<void> {
  await change(provider, id, { requiredAction: { message: 'Call your dealer.', located: false } });
}

async function change({ control }: Simulator, id: string, to: Record<string, unknown>): Promise<void> {
  const answer = await fetch(new URL(`organizations/${id}`, control), {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(to),
  });
  if (!answer.ok) throw new Error(`organization ${id}: ${answer.status}`);
}

/** Somebody asks the service to look at them now. */
export async function probeNow({ ready }: Receiver, ids: string[]): Promise<void> {
  await eachOf(ids, async (id) => {
    const answer = await fetch(`${String(ready.operations)}/api/organizations/${id}/probe`, {
      method: 'POST',
    });
    if (!answer.ok) throw new Error(`probe of ${id}: ${answer.status}`);
  });
}

/** Waits until so many organizations are of this access, as the service says of itself. */
export async function accessReached({ ready }: Receiver, access: string, count: number): Promise<void> {
  const metrics = new URL('/metrics', ready.operations as string);
  const shown = async () => {
    const text = await (await fetch(metrics)).text();
    const pattern = new RegExp(`^tramline_organizations\\{[^}]*access="${access}"[^}]*\\} (\\d+)`, 'm');
    return Number(pattern.exec(text)?.[1] ?? 0);
  };
  await until(async () => (await shown()) >= count, {
    withinMs: reachedMsMax,
    everyMs: 250,
    what: `${count} organizations to be ${access}`,
  });
}

async function eachOf(ids: string[], act: (id: string) => Promise<void>): Promise<void> {
  const waiting = [...ids];
  const lane = async () => {
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) await act(id);
  };
  await Promise.all(Array.from({ length: patchesAtOnce }, lane));
}
