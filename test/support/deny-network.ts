// Loaded before every suite: a test reaches this machine's loopback and the neighbours named by TEST_KAFKA_BROKERS or
// TEST_DATABASE_URL, and nothing else. Anything else fails at once with the address it wanted, so that no test can
// depend on the internet without being seen. Must not know any library: it stands below all of them, at the socket.
import { Socket } from 'node:net';

const patched = Symbol.for('tramline.test.network-denied');

/** Whether tests may open a connection to this host: loopback by name or address, or a neighbour named by setting. */
export function isHostAllowed(host: string, environment: Record<string, string | undefined>): boolean {
  const bare = host.replace(/^\[|\]$/g, '').toLowerCase();
  if (bare === 'localhost' || bare === '::1' || /^127\.\d+\.\d+\.\d+$/.test(bare)) return true;
  return neighbourHosts(environment).includes(bare);
}

function neighbourHosts(environment: Record<string, string | undefined>): string[] {
  const brokers = (environment.TEST_KAFKA_BROKERS ?? '').split(',').filter((broker) => broker !== '');
  const hosts = brokers.map((broker) => broker.trim().replace(/:\d+$/, '').toLowerCase());
  const database = environment.TEST_DATABASE_URL;
  if (database !== undefined && URL.canParse(database)) hosts.push(new URL(database).hostname.toLowerCase());
  return hosts;
}

/** The host a `socket.connect(…)` call is for, or undefined when it is for a path on this machine. */
function hostOf(callArguments: unknown[]): string | undefined {
  // `net.connect` hands over its arguments already normalized, as one array.
  const first = Array.isArray(callArguments[0]) ? callArguments[0][0] : callArguments[0];
  if (typeof first === 'object' && first !== null) {
    const options = first as { path?: string | null; host?: string };
    if (typeof options.path === 'string') return undefined;
    return options.host ?? 'localhost';
  }
  if (typeof first === 'string' && !/^\d+$/.test(first)) return undefined;
  return typeof callArguments[1] === 'string' ? callArguments[1] : 'localhost';
}

type Connect = (this: Socket, ...callArguments: unknown[]) => Socket;
const prototype = Socket.prototype as unknown as Record<string | symbol, unknown>;

// The prototype is shared by all suites of one worker, so it is patched once.
if (prototype[patched] !== true) {
  const connect = prototype.connect as Connect;
  prototype[patched] = true;
  prototype.connect = function connectOrRefuse(this: Socket, ...callArguments: unknown[]): Socket {
    const host = hostOf(callArguments);
    if (host === undefined || isHostAllowed(host, process.env)) return connect.apply(this, callArguments);
    const error = Object.assign(new Error(`A test tried to reach ${host}; tests reach loopback only.`), {
      code: 'ENETWORKDENIED',
    });
    process.nextTick(() => this.destroy(error));
    return this;
  };
}
