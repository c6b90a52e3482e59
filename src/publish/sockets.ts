/**
 * The connections of one Kafka client, so that it can be given up in an instant: its sockets are destroyed, with
 * whatever they still hold, and no new one is made. The client's own farewell waits for answers that may never come.
 */
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';

const keepAliveMs = 60_000;

export interface SocketRequest {
  host: string;
  port: number;
  ssl: ConnectionOptions | undefined;
  onConnect: () => void;
}

export interface Sockets {
  /** Throws once the client was given up. */
  make(request: SocketRequest): Socket;
  /** What was asked of them fails at once. May be called again. */
  destroyAll(): void;
}

export function makeSockets(): Sockets {
  const open = new Set<Socket>();
  let givenUp = false;
  return {
    make({ host, port, ssl, onConnect }) {
      if (givenUp) throw new Error('this client was given up');
      const socket = ssl
        ? connectTls({ host, port, ...(isIP(host) ? {} : { servername: host }), ...ssl }, onConnect)
        : connectPlain({ host, port }, onConnect);
      socket.setKeepAlive(true, keepAliveMs);
      // A request is one write; its end must not wait for the other side to confirm its beginning.
      socket.setNoDelay(true);
      open.add(socket);
      socket.once('close', () => open.delete(socket));
      return socket;
    },
    destroyAll() {
      givenUp = true;
      // With an error, since that is what makes the client fail its requests: it does not listen for `close`.
      for (const socket of open) socket.destroy(new Error('this client was given up'));
    },
  };
}
