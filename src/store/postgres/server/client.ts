/**
 * One connection to the server, whoever holds it. Its end is waited for no longer than a server that is there takes for it: one
 * that is silent answers no goodbye, and its socket would keep a process that has ended alive for minutes.
 */
import type { Socket } from 'node:net';
import { Client, type ClientConfig } from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';

const goodbyeMs = 500;

/**
 * `end` takes at most 500 ms. Certificates and the key that the address names are read for each connection. Throws where they
 * cannot be read and never could.
 */
export class BoundedClient extends Client {
  constructor(config: ClientConfig = {}) {
    super(withFiles(config));
  }

  override end(ended?: (error: Error) => void): Promise<void> {
    const socket = socketOf(this);
    const overdue = setTimeout(() => socket.destroy(), goodbyeMs);
    socket.once('close', () => clearTimeout(overdue));
    overdue.unref();
    return super.end(ended as never) as unknown as Promise<void>;
  }
}

/** By address, as its files were when they could be read. */
const lastRead = new Map<string, ClientConfig>();

/**
 * pg reads the files as well, in a turn of its own where nobody would hear of one that is being replaced: that would end the
 * process. Until they are there again connections are made with what they said before.
 */
function withFiles({ connectionString, ...config }: ClientConfig): ClientConfig {
  if (connectionString === undefined) return config;
  const before = lastRead.get(connectionString);
  try {
    lastRead.set(connectionString, parseIntoClientConfig(connectionString));
  } catch (error) {
    if (before === undefined) throw error;
  }
  return { ...config, ...lastRead.get(connectionString) };
}

/** What its types do not tell of a client. */
export function socketOf(client: Client): Socket {
  return (client as Client & { connection: { stream: Socket } }).connection.stream;
}
