// Goal: words of others cannot smuggle anything into a page: no address of a person, no token, no second line.
import { plainAddress, plainMessage, plainName, plainTime } from '../../../src/alert/plain-text';

test('a name stays as it is, on one line', () => {
  expect(plainName('  Høj  & Søn\nGårde 2 ', 80)).toBe('Høj & Søn Gårde 2');
});

test('a long name of letters and digits is still a name', () => {
  expect(plainName('Smith-Johnson-Brothers-Farms-2020', 80)).toBe('Smith-Johnson-Brothers-Farms-2020');
});

test('A-7: an e-mail address is left out of names and messages', () => {
  expect(plainName('Farm of jo.doe@example.org', 80)).toBe('Farm of [address]');
  expect(plainMessage('write to <jo@example.org>!', 80)).toBe('write to <[address]>!');
  expect(plainMessage('ann%40farm.example', 80)).toBe('[address]');
  expect(plainName('農場 jo.doe\uFF20farm.example', 80)).toBe('農場 [address]');
  expect(plainMessage('ann%2540farm.example', 80)).toBe('[address]');
  expect(plainName('ann&#64;farm.example', 80)).toBe('[address]');
  expect(plainMessage('To ann&#x40;farm.example, jo&amp;commat;farm.example.', 80)).toBe(
    'To [address], [address]',
  );
});

test('A-7: what looks like a token is hidden in messages, long words are not', () => {
  expect(plainMessage('token 3yZTF0b5kRkZs1OmYwJ2q8XcQ9 rejected', 80)).toBe('token [hidden] rejected');
  expect(plainMessage('Grundstuecksverkehrsgenehmigungszustaendigkeit', 80)).toBe(
    'Grundstuecksverkehrsgenehmigungszustaendigkeit',
  );
});

test('an address in a message says which host failed and where, without what looks like a token in it', () => {
  for (const address of [
    'https://signin.example.com/oauth2/aus78tnlaysMraFhC1t7/v1/token',
    'http://127.0.0.1:40123/signin/oauth2/default/v1/token',
    'https://equipmentapi.example.com/isg/v2/equipment/217001',
    'https://a-host-with-a-long-name-2-eu-west-1.example.com/isg/v2',
  ]) {
    const said = `the token call at ${address}: expected 200, got 503`;
    expect(plainMessage(said, 500)).toBe(said);
  }
  const token = '3yZTF0b5kRkZs1OmYwJ2q8XcQ9';
  expect(
    plainMessage(`at https://api.example.com/v2/${token}/fields?token=${token}#${token}, ${token}`, 500),
  ).toBe('at https://api.example.com/v2/[hidden]/fields?[hidden]#[hidden], [hidden]');
  expect(plainMessage(`at https://${token}/v1/a`, 500)).toBe('at https:[hidden]');
});

test('characters that would break or turn a line are gone', () => {
  expect(plainMessage('a\u0000b\u001b[31mc\u202ed\u2028e', 80)).toBe('a b [31mc d e');
});

test('a text is cut at its bound, and never in the middle of a character', () => {
  expect(plainName('abcdef', 4)).toBe('abc…');
  expect(plainName('ab😀def', 4).isWellFormed()).toBe(true);
  expect(plainMessage('x '.repeat(100_000), 10)).toHaveLength(10);
});

test('only a web address without user info is shown', () => {
  expect(plainAddress('https://provider.example/terms?org=1')).toBe('https://provider.example/terms?org=1');
  expect(plainAddress('http://127.0.0.1:9100/terms')).toBe('http://127.0.0.1:9100/terms');
  for (const refused of [
    null,
    '/terms',
    'javascript:alert(1)',
    'https://jo:secret@provider.example/',
    'https://:secret@provider.example/',
    `https://provider.example/${'x'.repeat(2000)}`,
  ]) {
    expect(plainAddress(refused)).toBeNull();
  }
});

test('A-7: an address that holds an e-mail address is shown without it, or not at all', () => {
  const page = 'https://provider.example/terms';
  expect(plainAddress(`${page}?org=1&login_hint=jo%40example.org`)).toBe(`${page}?org=1`);
  expect(plainAddress(`${page}?jo@example.org#a`)).toBe(`${page}#a`);
  expect(plainAddress(`${page}#jo@example.org`)).toBe(page);
  expect(plainAddress('https://provider.example/@v2/terms')).toBe('https://provider.example/@v2/terms');
  expect(plainAddress('https://provider.example/users/jo%40example.org/terms')).toBeNull();
});

test('a time is UTC, to the second', () => {
  expect(plainTime(Date.UTC(2026, 2, 1, 12, 0, 0, 987))).toBe('2026-03-01T12:00:00Z');
});
