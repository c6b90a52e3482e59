import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { makeSockets } from '../../../src/publish/sockets';

let server: Server;
let accepted: Socket[];

beforeEach(async () => {
  accepted = [];
  server = createServer((socket) => accepted.push(socket.on('error', () => {})));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(async () => {
  for (const socket of accepted) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

function connect(sockets: ReturnType<typeof makeSockets>): Promise<Socket> {
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    const onConnect = () => resolve(socket);
    const socket = sockets.make({ host: '127.0.0.1', port, ssl: undefined, onConnect });
    socket.once('error', reject);
  });
}

test('given up, every connection fails at once and no new one is made', async () => {
  const sockets = makeSockets();
  const [first, second] = await Promise.all([connect(sockets), connect(sockets)]);
  const errors = Promise.all([once(first, 'error'), once(second, 'error')]);
  sockets.destroyAll();
  expect((await errors).map(([error]) => (error as Error).message)).toEqual(
    Array(2).fill('this client was given up'),
  );
  await expect(connect(sockets)).rejects.toThrow('this client was given up');
  sockets.destroyAll();
});

test('a connection that ended by itself is forgotten', async () => {
  const sockets = makeSockets();
  const socket = await connect(sockets);
  socket.destroy();
  await once(socket, 'close');
  const failed = jest.fn();
  socket.on('error', failed);
  sockets.destroyAll();
  await new Promise(setImmediate);
  expect(failed).not.toHaveBeenCalled();
});

test.each([
  ['127.0.0.1', undefined],
  ['localhost', 'localhost'],
])('a secure connection to %s names the server %p', async (host, servername) => {
  const { port } = server.address() as AddressInfo;
  const sockets = makeSockets();
  const ssl = { rejectUnauthorized: true };
  const socket = sockets.make({ host, port, ssl, onConnect: () => {} });
  socket.on('error', () => {});
  await once(server, 'connection');
  const [hello] = (await once(accepted.at(-1) as Socket, 'data')) as [Buffer];
  expect(hello.includes(Buffer.from('localhost'))).toBe(servername !== undefined);
  sockets.destroyAll();
});
