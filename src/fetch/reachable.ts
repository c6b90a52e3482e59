/**
 * Which addresses of the network a connection may end at, judged on the connected socket: a name that resolves to this
 * machine or to a private network is refused before a byte is written. Pure.
 */
import { BlockList } from 'node:net';
import { isLoopbackLiteral } from './gate';

// Loopback, private, link-local, shared, benchmark, multicast and reserved ranges (RFC 6890 and its updates).
const closedIPv4: [string, number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
];
const closedIPv6: [string, number][] = [
  ['::', 127],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
];

const closed = new BlockList();
for (const [network, prefix] of closedIPv4) closed.addSubnet(network, prefix, 'ipv4');
for (const [network, prefix] of closedIPv6) closed.addSubnet(network, prefix, 'ipv6');
const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/**
 * True when a socket that was opened for `host` may stay. A host that is itself a loopback literal, which only an
 * operator's setting can bring here, stays on this machine; every other host leads to a public address.
 */
export function isReachable(host: string, remoteAddress: string | undefined): boolean {
  if (remoteAddress === undefined) return false;
  const family = remoteAddress.includes(':') ? 'ipv6' : 'ipv4';
  return isLoopbackLiteral(host)
    ? loopback.check(remoteAddress, family)
    : !closed.check(remoteAddress, family);
}
