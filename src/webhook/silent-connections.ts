/**
 * Connections over which nothing has come yet. Node does not count them as idle, so a gateway that connects ahead would
 * hold up the end of a process until its headers time out. Nothing here looks at a request.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** Gives a function that closes the silent connections of now. */
export function trackSilentConnections(server: Server): () => void {
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  return () => {
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
  };
}
