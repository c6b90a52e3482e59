/**
 * One connection to the server, whoever holds it. Its end is waited for no longer than a server that is there takes for it: one
 * that is silent answers no goodbye, and its socket would keep a process that has ended alive for minutes.
 */
import type { Socket } from 'node:net';
import { Client } from 'pg';

const goodbyeMs = 500;

/** `end` takes at most 500 ms. */
export class BoundedClient extends Client {
  override end(ended?: (error: Error) => void): Promise<void> {
    const socket = socketOf(this);
    const overdue = setTimeout(() => socket.destroy(), goodbyeMs);
    socket.once('close', () => clearTimeout(overdue));
    overdue.unref();
    return super.end(ended as never) as unknown as Promise<void>;
  }
}

/** What its types do not tell of a client. */
export function socketOf(client: Client): Socket {
  return (client as Client & { connection: { stream: Socket } }).connection.stream;
}
