import { isReachable } from '../../../src/fetch/reachable';

test.each(['93.184.216.34', '2606:2800:220:1::1', '::ffff:93.184.216.34', '100.128.0.1', '172.32.0.1'])(
  'a public name may lead to %s',
  (address) => {
    expect(isReachable('api.example.com', address)).toBe(true);
  },
);

test.each([
  '127.0.0.1',
  '127.9.9.9',
  '0.0.0.0',
  '10.1.2.3',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:10.0.0.1',
  '::ffff:169.254.169.254',
  'fc00::1',
  'fd12::1',
  'fe80::1',
  'ff02::1',
])('a public name may not lead to %s', (address) => {
  expect(isReachable('api.example.com', address)).toBe(false);
});

test('a configured loopback literal stays on this machine', () => {
  expect(isReachable('127.0.0.1', '127.0.0.1')).toBe(true);
  expect(isReachable('::1', '::1')).toBe(true);
  expect(isReachable('127.0.0.1', '93.184.216.34')).toBe(false);
  expect(isReachable('localhost', '127.0.0.1')).toBe(false);
});

test('a socket without an address is not kept', () => {
  expect(isReachable('api.example.com', undefined)).toBe(false);
});
