// A way to PostgreSQL that loses an answer: everything passes through, until a test asks that the answer to the next
// commit of a certain statement is lost. The server has committed then; whoever asked sees its connection end and nothing
// else. Understands as much of the protocol as that takes: where messages begin, which statement is run, which answer says
// that a transaction was committed.
import { connect, createServer, type Socket } from 'node:net';

export type PostgresProxy = {
  port: number;
  /** The answer to the next COMMIT of a connection that ran a statement that matches is lost; resolves when it was. */
  loseCommitOf(statement: RegExp): Promise<void>;
  /** The connections that there are stay open, and nothing passes on them any more; new ones are served. */
  silence(): void;
  close(): Promise<void>;
};

/** Listens on a free port of loopback in front of the server at `serverPort`. */
export async function startPostgresProxy(serverPort: number): Promise<PostgresProxy> {
  const sockets = new Set<Socket>();
  const silent = new WeakSet<Socket>();
  let wanted: { statement: RegExp; lost: () => void } | null = null;

  const server = createServer((client) => {
    const upstream = connect(serverPort, '127.0.0.1');
    const statements = new Map<string, string>();
    let ranWanted = false;
    const end = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', end);
      socket.on('close', () => {
        sockets.delete(socket);
        end();
      });
    }
    const ran = (sql: string) => {
      if (wanted?.statement.test(sql)) ranWanted = true;
    };
    const asked = makeReader(true, (type, body) => {
      const words = body.toString('utf8').split('\0');
      if (type === 'Q') ran(words[0]!);
      else if (type === 'P') statements.set(words[0]!, words[1]!);
      else if (type === 'B') ran(statements.get(words[1]!) ?? '');
    });
    const answered = makeReader(false, (type, body) => {
      // One statement may be a transaction by itself: the server is idle again then (`I`).
      const isCommitted =
        type === 'C' ? body.toString('utf8').startsWith('COMMIT') : type === 'Z' && body[0] === 0x49;
      if (!isCommitted || !ranWanted || wanted === null) return;
      const { lost } = wanted;
      wanted = null;
      end();
      lost();
    });
    client.on('data', (chunk) => {
      if (silent.has(client)) return;
      asked(chunk);
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (silent.has(client)) return;
      answered(chunk);
      if (!client.destroyed) client.write(chunk);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as { port: number }).port,
    loseCommitOf: (statement) =>
      new Promise((lost) => {
        wanted = { statement, lost };
      }),
    silence() {
      for (const socket of sockets) {
        silent.add(socket);
        // Nor is an end heard or answered.
        socket.pause();
      }
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Tells of each whole message. Those of a client begin with one that has no type. */
function makeReader(
  startsUntyped: boolean,
  heard: (type: string, body: Buffer) => void,
): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  let typed = !startsUntyped;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const head = typed ? 1 : 0;
      if (rest.length < head + 4) return;
      const end = head + rest.readInt32BE(head);
      if (rest.length < end) return;
      if (typed) heard(String.fromCharCode(rest[0]!), rest.subarray(head + 4, end));
      typed = true;
      rest = rest.subarray(end);
    }
  };
}
