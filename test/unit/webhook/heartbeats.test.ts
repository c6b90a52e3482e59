// What the room tells of deliveries that it accepts: the Authorization value that opened it, and the token of a heartbeat.
import { Secret } from '../../../src/tools/secret';
import { makeAuthenticator } from '../../../src/webhook/authenticate';
import { settingsWith } from './receiver';

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
