// What is added to a refused token, and to which: pure calls.
import { nameSwitchOver } from '../../../src/fetch/switch-over';
import { oauth1Ending } from '../../../src/model/connection';

const refused = {
  kind: 'reauthorize',
  connectionId: 'c1',
  message: 'Unauthorized',
  sealedToken: 's',
} as const;

test('a refused OAuth 1 token names the switch-over after the provider’s own words', () => {
  expect(nameSwitchOver(refused, 'oauth1')).toEqual({ ...refused, message: `Unauthorized. ${oauth1Ending}` });
  expect(nameSwitchOver({ ...refused, message: null }, 'oauth1')).toMatchObject({ message: oauth1Ending });
  expect(oauth1Ending).toContain('tramline connect --auth oauth2');
});

test('nothing is added where OAuth 2, no token, or something else is refused', () => {
  expect(nameSwitchOver(refused, 'oauth2')).toBe(refused);
  expect(nameSwitchOver(refused, undefined)).toBe(refused);
  const gone = { kind: 'gone', certain: true, connectionId: 'c1', origin: 'https://api.example' } as const;
  expect(nameSwitchOver(gone, 'oauth1')).toBe(gone);
});
