// The state as it is streamed: how it waits for a slow reader.
import { Writable } from 'node:stream';
import { writeState } from '../../../../src/simulator/controls/state';
import type { Provider } from '../../../../src/simulator/provider/provider';

/** Nothing but organizations, each longer than a chunk. */
function providerOf(count: number): Provider {
  const list = Array.from({ length: count }, (_, id) => ({ id: String(id), name: 'x'.repeat(70_000) }));
  const world = { organizations: { list }, equipmentOf: () => [], fieldsPerOrganization: 0 };
  return { world } as unknown as Provider;
}

test('however often it waits for a slow reader, it listens to the answer once', async () => {
  let text = '';
  let most = 0;
  const out = new Writable({
    highWaterMark: 1,
    write(chunk, _, done) {
      text += chunk;
      const counts = ['drain', 'close', 'error'].map((event) => out.listenerCount(event));
      most = Math.max(most, ...counts);
      setImmediate(done);
    },
  });
  const own = out.listenerCount('error');
  await writeState(providerOf(30), out, { organizationId: undefined, content: false });
  expect(JSON.parse(text).organizations).toHaveLength(30);
  // One wait listens for an error twice: beside the drain, and beside the close.
  expect(most).toBeLessThanOrEqual(own + 2);
});

test('a reader that goes away in the middle ends it', async () => {
  const out = new Writable({ highWaterMark: 1, write: () => void setImmediate(() => out.destroy()) });
  await writeState(providerOf(30), out, { organizationId: undefined, content: false });
  expect(out.destroyed).toBe(true);
});
