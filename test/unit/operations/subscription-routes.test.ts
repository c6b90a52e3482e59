// Subscriptions through the operations listener: every answer is as schemas/openapi.yaml describes it, and a body that
// does not fit is refused without being repeated.
import request from 'supertest';
import type { Api } from '../../../src/model/api';
import { makeOperationsServer } from '../../../src/operations/server';
import { faultOfAnswer } from '../../support/openapi';
import { makeScriptedSubscriptions, type ScriptedSubscriptions } from '../../support/scripted-subscriptions';

const id = '0a1b2c3d-1111-2222-3333-444455556666';
let subscriptions: ScriptedSubscriptions;
beforeEach(() => {
  subscriptions = makeScriptedSubscriptions();
});

async function ask(method: 'get' | 'post', path: string, body?: object) {
  const server = makeOperationsServer({
    api: { subscriptions: subscriptions.api } as Api,
    health: { live: () => ({ status: 'live' }), ready: async () => ({ status: 'ready' }) },
    metricsText: async () => '',
    token: null,
    fault: (error) => {
      throw error;
    },
  });
  const answer = await request(server.app)[method](path).send(body);
  const mediaType = String(answer.headers['content-type'] ?? '');
  const parsed: unknown = JSON.parse(answer.text);
  const described = mediaType === 'application/x-ndjson' ? answer.text : parsed;
  expect(faultOfAnswer({ method, path, status: answer.status, mediaType, body: described })).toBeNull();
  return { status: answer.status, body: parsed, text: answer.text };
}

test('subscriptions are listed, created, renewed and ended', async () => {
  expect(await ask('get', '/api/subscriptions')).toMatchObject({ status: 200, body: { item: { id } } });
  const wanted = { eventTypeId: 'equipment', filters: [{ key: 'orgId', values: ['1'] }] };
  expect(await ask('post', '/api/subscriptions', wanted)).toMatchObject({ status: 200, body: { id } });
  expect(subscriptions.wanted).toEqual([{ ...wanted, displayName: null, user: null }]);
  for (const verb of ['renew', 'end']) {
    expect((await ask('post', `/api/subscriptions/${id}/${verb}`)).status).toBe(200);
    expect((await ask('post', `/api/subscriptions/unknown/${verb}`)).status).toBe(404);
    expect((await ask('post', `/api/subscriptions/${'x'.repeat(201)}/${verb}`)).status).toBe(404);
  }
});

test('delivery settings are read and changed', async () => {
  expect(await ask('get', '/api/delivery')).toMatchObject({ status: 200, body: { status: 'Active' } });
  const changes = [
    { status: 'Paused' },
    { authorization: { generate: true } },
    { authorization: { value: 'Bearer 1' } },
  ];
  for (const change of changes) expect((await ask('post', '/api/delivery', change)).status).toBe(200);
  expect(subscriptions.wanted).toEqual(changes);
});

test.each([
  ['/api/subscriptions', {}],
  ['/api/subscriptions', { eventTypeId: 'canary', other: 1 }],
  ['/api/subscriptions', { eventTypeId: 'x', filters: [{ key: 'canary', values: [] }] }],
  ['/api/delivery', { maxBatchSize: 257 }],
  ['/api/delivery', { authorization: { value: 'canary\nX: y' } }],
  ['/api/delivery', { authorization: { generate: false } }],
])('%s refuses %j, and does not repeat it', async (path, body) => {
  const { status, text } = await ask('post', path, body);
  expect([status, text.includes('canary'), subscriptions.wanted]).toEqual([400, false, []]);
});
