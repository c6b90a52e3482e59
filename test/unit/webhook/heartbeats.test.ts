// What the room tells of deliveries that it accepts: the Authorization value that opened it, and the token of a heartbeat.
import { Secret } from '../../../src/tools/secret';
import { makeAuthenticator } from '../../../src/webhook/authenticate';
import { notification, post, settingsWith, startReceiver, stopReceivers } from './receiver';

afterEach(stopReceivers);

const values = ['Bearer old', 'Bearer new'].map((text) => new Secret(text));

test('the value that a request carried is told, a wrong one is not', () => {
  const used: Secret[] = [];
  const settings = settingsWith({ authorizationValues: () => values });
  const { checkHeaders } = makeAuthenticator(settings, (value) => used.push(value));
  expect(checkHeaders({ authorization: 'Bearer new' })).toBeNull();
  expect(checkHeaders({ authorization: 'Bearer other' })).toBe('authorization-wrong');
  expect(used).toEqual([values[1]]);
  expect(used[0]).toBe(values[1]);
});

test('a token that was made tells its id with whose it is, another does not', () => {
  const tokens = () => [
    { token: new Secret('made'), user: 'ann', id: 'w1' },
    { token: new Secret('set'), user: null, id: null },
  ];
  const { checkTokens } = makeAuthenticator(settingsWith({ auth: ['token'], tokens }));
  const { verdicts } = checkTokens([{ token: 'made' }, { token: 'set' }, { token: 'x' }]);
  expect(verdicts).toEqual([
    { holds: true, user: 'ann', id: 'w1' },
    { holds: true, user: null },
    { holds: false, user: null },
  ]);
});

test('of a delivery those heartbeats are noted that came with a token that was made, and nothing else', async () => {
  const heard: string[] = [];
  const tokens = () => [
    { token: new Secret('made'), user: 'ann', id: 'w1' },
    { token: new Secret('other'), user: 'ann', id: 'w2' },
    { token: new Secret('third'), user: 'ann', id: 'w3' },
    { token: new Secret('set'), user: null, id: null },
  ];
  const settings = { auth: ['token' as const], tokens };
  const { port } = await startReceiver({ settings, heartbeat: (id) => void heard.push(id) });
  const heartbeat = (token: string) => ({ eventTypeId: 'heartbeat', token });
  const twice = '{"eventTypeId":"heartbeat","token":"third","x":1,"x":2}';
  const others = [heartbeat('made'), heartbeat('set'), heartbeat('wrong'), notification({ token: 'other' })];
  const body = `[${twice},${others.map((one) => JSON.stringify(one)).join()}]`;
  expect((await post(port, body)).status).toBe(204);
  expect(heard).toEqual(['w1']);
});
