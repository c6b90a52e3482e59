// A request that was sent before is seen as such in its span: after a 401 within a read, and by the attempts before it.
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import nock from 'nock';
import type { TakenTask } from '../../../src/model/task';
import { makeRecordedTraces } from '../../../src/observe/traces';
import { Secret } from '../../../src/tools/secret';
import { traceReads } from '../../../src/wire/trace-reads';
import { connectionOf, origin, requestFor, stageClient } from '../../support/provider-client';

const axiom = { 'content-type': 'application/vnd.Acme.axiom.v3+json;charset=UTF-8' };
const operation = { '@type': 'FieldOperation', id: 'op-1', orgId: 4711, measurementTypes: [], links: [] };
const path = '/platform/fieldOperations/op-1';

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const observer = makeRecordedTraces(provider.getTracer('test'));

beforeEach(() => {
  if (!nock.isActive()) nock.activate();
  nock.disableNetConnect();
  exporter.reset();
});
afterEach(() => {
  nock.cleanAll();
  nock.enableNetConnect();
});
// Suites of one worker share the network that nock takes hold of.
afterAll(() => nock.restore());

/** The resend counts of the spans of one read whose calls are answered so, by a task that failed so often. */
async function resendCounts(attempts: number, ...statuses: number[]): Promise<unknown[]> {
  const links = [{ rel: 'organizations', uri: `${origin}/platform/organizations` }];
  nock(origin).get('/platform/').reply(200, { links }, axiom);
  for (const status of statuses) {
    nock(origin)
      .get(path)
      .query(true)
      .reply(status, status === 200 ? operation : '', axiom);
  }
  const { client } = stageClient({}, [connectionOf()], {
    renewal: {
      current: (connection) => connection,
      renew: async () => ({ connection: connectionOf({ token: new Secret('renewed') }) }),
    },
  });
  const read = traceReads(client, observer);
  const task = { ...requestFor(`${origin}${path}`), attempts } as TakenTask;
  await read(task, new AbortController().signal, '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01');
  client.close();
  expect(nock.pendingMocks()).toEqual([]);
  return exporter.getFinishedSpans().map(({ attributes }) => attributes['http.request.resend_count']);
}

test('a read that is asked once has none', async () => {
  expect(await resendCounts(0, 200)).toEqual([undefined]);
});

test('a call that is repeated with a new token after a 401 counts', async () => {
  expect(await resendCounts(0, 401, 200)).toEqual([1]);
});

test('the attempts that failed before count too', async () => {
  expect(await resendCounts(2, 401, 200)).toEqual([3]);
  exporter.reset();
  expect(await resendCounts(2, 503)).toEqual([2]);
});
