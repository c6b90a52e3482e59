// The provider client against the simulated provider, over real sockets: the simulator checks every signature with its
// own implementation of RFC 5849 and shares no module with the client.

import type { Called } from '../../../src/fetch/options';
import { makeProviderClient, type ProviderClient } from '../../../src/fetch/provider-client';
import type { ReadRequest } from '../../../src/fetch/read-through';
import type { Connection } from '../../../src/model/connection';
import { type Simulator, startSimulator } from '../../../src/simulator/simulator';
import { systemClock } from '../../../src/tools/clock';
import { Secret } from '../../../src/tools/secret';
import { type SimulatorControls, type SimulatorState, simulatorControls } from '../../support/simulator';

interface Stage {
  simulator: Simulator;
  controls: SimulatorControls;
  state: SimulatorState;
  client: ProviderClient;
  connection: Connection;
  calls: Called[];
}

let stage: Stage;

async function begin(auth: 'oauth1' | 'oauth2'): Promise<Stage> {
  const simulator = await startSimulator({
    auth,
    organizations: 3,
    equipment: 3,
    fieldOperations: 6,
    heartbeatMs: 0,
  });
  const controls = simulatorControls(simulator.control);
  const state = await controls.state();
  const { environment } = simulator;
  const [token] = JSON.parse(environment.PROVIDER_TOKENS ?? '[]') as Record<string, string>[];
  const connection: Connection = {
    connectionId: token!.connection!,
    user: token!.user!,
    auth,
    token: new Secret(token!.token!),
    sealedToken: 'sealed',
    tokenSecret: token!.secret === undefined ? null : new Secret(token!.secret),
    refresh: null,
    expiresAt: null,
    status: 'valid',
  };
  const seen = new Set(state.organizations.map(({ id }) => id));
  const calls: Called[] = [];
  const client = makeProviderClient(
    {
      vendor: simulator.vendor,
      catalogUrl: simulator.catalog,
      equipmentUrl: simulator.equipment,
      equipmentApi: 'new',
      origins: [],
      issuer: null,
      clientKey: simulator.clientKey,
      clientSecret: new Secret(environment.PROVIDER_CLIENT_SECRET ?? ''),
      timeoutMs: 5000,
      bodyBytesMax: 1_000_000,
      depthMax: 64,
      pagesMax: 100,
      connectionsMax: 8,
      listsAtOnce: 2,
      unitSystem: 'metric',
      yieldPreference: null,
      probeMs: 15_000,
      probeMsMax: 900_000,
    },
    {
      connections: () => [connection],
      sees: () => seen,
      clock: systemClock,
      called: (call) => calls.push(call),
    },
  );
  return { simulator, controls, state, client, connection, calls };
}

afterEach(async () => {
  stage.client.close();
  await stage.simulator.close();
});

const request = (address: string, more: Partial<ReadRequest> = {}): ReadRequest => ({
  address,
  resource: null,
  organizationId: null,
  hintedOrganizationId: null,
  hintedUser: stage.connection.user,
  connectionId: null,
  ...more,
});

const bodyOf = (answer: { kind: string; document?: { body: unknown } }) =>
  answer.document?.body as Record<string, unknown>;

describe.each(['oauth1', 'oauth2'] as const)('under %s', (auth) => {
  beforeEach(async () => {
    stage = await begin(auth);
  });

  test('equipment is read with its devices in one call', async () => {
    const [machine] = stage.state.equipment;
    const { answer, cost } = await stage.client.read(request(machine!.uri));
    expect(answer).toMatchObject({
      kind: 'ok',
      document: { address: machine!.uri, mediaType: 'application/json' },
    });
    expect(String(bodyOf(answer as never).id)).toBe(machine!.id);
    expect(bodyOf(answer as never)).toHaveProperty('devices');
    expect(cost).toMatchObject({ calls: 1, status: 200 });
  });

  test('a field operation is read with its measurement types in one call', async () => {
    const [operation] = stage.state.fieldOperations;
    const { answer, cost } = await stage.client.read(request(operation!.uri));
    expect(answer).toMatchObject({
      kind: 'ok',
      document: { address: operation!.uri, mediaType: 'application/vnd.harrow.axiom.v3+json' },
    });
    expect(bodyOf(answer as never)).toMatchObject({
      id: operation!.id,
      measurementTypes: expect.any(Array),
    });
    expect(cost).toMatchObject({ calls: 1, status: 200 });
    expect(stage.calls.at(-1)).toMatchObject({
      operation: 'field-operation',
      status: 200,
      elapsedMs: expect.any(Number),
      serverDateMs: expect.any(Number),
    });
  });

  test('every request was signed to the simulator’s satisfaction', async () => {
    for (const { uri } of [...stage.state.equipment, ...stage.state.fieldOperations]) {
      await stage.client.read(request(uri));
    }
    const requests = await stage.controls.requests();
    expect(requests.length).toBeGreaterThan(20);
    expect(requests.filter(({ verdict }) => (verdict as { valid: boolean }).valid !== true)).toEqual([]);
  });

  test('an organization whose terms are not accepted answers with where they are accepted', async () => {
    const { organizationId, uri } = stage.state.fieldOperations[0]!;
    await stage.controls.setOrganization(organizationId, { termsAccepted: false });
    const { answer } = await stage.client.read(request(uri, { organizationId }));
    expect(answer).toMatchObject({
      kind: 'action-required',
      cause: 'terms',
      actionUrl: expect.stringContaining(`/organizations/${organizationId}/terms`),
      message: 'Requested Org is in a restricted state.',
    });
    const due = { organizationId, epoch: 1, refusedAddress: uri, knownAddress: null, connectionId: null };
    expect(await stage.client.probe(due)).toMatchObject({ kind: 'action-required' });
    expect(await stage.client.probe({ ...due, refusedAddress: null })).toMatchObject({
      kind: 'action-required',
    });
    await stage.controls.setOrganization(organizationId, { termsAccepted: true });
    expect((await stage.client.probe(due)).kind).toBe('ok');
    expect((await stage.client.probe({ ...due, refusedAddress: null })).kind).toBe('ok');
  });

  test('an organization that is not connected is told by its connections link', async () => {
    const { organizationId, uri } = stage.state.equipment[0]!;
    await stage.controls.setOrganization(organizationId, { connected: false });
    const { answer, cost } = await stage.client.read(request(uri, { organizationId }));
    expect(answer).toMatchObject({
      kind: 'not-connected',
      actionUrl: expect.stringContaining('/select-organizations'),
    });
    expect(cost.calls).toBe(2);
    const hinted = await stage.client.read(request(uri, { hintedOrganizationId: organizationId }));
    expect(hinted.answer.kind).toBe('not-connected');
    expect((await stage.client.read(request(uri))).answer.kind).toBe('refused-unattributed');
    const due = { organizationId, epoch: 1, refusedAddress: uri, knownAddress: null, connectionId: null };
    expect((await stage.client.probe(due)).kind).toBe('not-connected');
    await stage.controls.setOrganization(organizationId, { connected: true });
    expect((await stage.client.probe(due)).kind).toBe('ok');
  });

  test('resources whose addresses moved are found again by their ids', async () => {
    const [first, second] = stage.state.fieldOperations;
    expect((await stage.client.read(request(first!.uri))).answer.kind).toBe('ok');
    await stage.controls.moveLinks();
    const known = await stage.client.read(
      request(first!.uri, {
        resource: { kind: 'field-operation', id: first!.id },
        organizationId: first!.organizationId,
      }),
    );
    expect(known.answer).toMatchObject({
      kind: 'ok',
      document: { address: expect.stringContaining(`/moved-1/level-2/fieldOperations/${first!.id}`) },
    });
    expect(bodyOf(known.answer as never)).toMatchObject({
      id: first!.id,
      measurementTypes: expect.any(Array),
    });
    const unknown = await stage.client.read(request(second!.uri));
    expect(unknown.answer).toMatchObject({ kind: 'ok', document: { body: { id: second!.id } } });
    expect(unknown.cost.calls).toBe(2);
    // What was learned after one move is not believed after the next.
    await stage.controls.moveLinks();
    const again = await stage.client.read(request(second!.uri));
    expect(again.answer).toMatchObject({
      kind: 'ok',
      document: { address: expect.stringContaining(`/moved-2/level-2/fieldOperations/${second!.id}`) },
    });
    const [machine] = stage.state.equipment;
    expect((await stage.client.read(request(machine!.uri))).answer.kind).toBe('ok');
  });

  test('what stands nowhere any more is gone, after the catalog was read again', async () => {
    const { id, uri, organizationId } = stage.state.fieldOperations[0]!;
    const address = uri.replace(id, 'd81f0f4e-0000-4000-8000-000000000000');
    const before = stage.calls.length;
    const { answer } = await stage.client.read(request(address, { organizationId }));
    expect(answer).toMatchObject({ kind: 'gone', certain: false });
    expect(
      stage.calls.slice(before).filter(({ operation }) => operation === 'catalog').length,
    ).toBeGreaterThan(1);
    const machine = stage.state.equipment[0]!.uri.replace(/\d+$/, '999999999');
    expect((await stage.client.read(request(machine, { organizationId }))).answer.kind).toBe('gone');
  });

  test('an expired token must be authorized again', async () => {
    await stage.controls.expireTokens();
    const { answer } = await stage.client.read(request(stage.state.equipment[0]!.uri));
    expect(answer).toMatchObject({ kind: 'reauthorize', connectionId: stage.connection.connectionId });
  });

  test('every organization is listed, and one is read by its id', async () => {
    const listed: string[] = [];
    for await (const page of stage.client.organizations(stage.connection.connectionId)) {
      expect(page.partial).toBe(false);
      if (!page.partial) listed.push(...page.organizations.map(({ id }) => id));
    }
    expect(listed.sort()).toEqual(stage.state.organizations.map(({ id }) => id).sort());
    const { id, name } = stage.state.organizations[0]!;
    const found = await stage.client.readOrganization(id, stage.connection.connectionId);
    expect(found).toMatchObject({ organization: { id, name, unconnected: false } });
  });
});
