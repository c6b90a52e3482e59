/**
 * The connections of a server: how many there may be, which of them ends where one more comes, and how much one may ask for
 * ahead. Nothing here looks at what a request says.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export interface Connections {
  /**
   * Closes those over which nothing has come yet. Node does not count them as idle, so a gateway that connects ahead would
   * hold up the end of a process until its headers time out.
   */
  closeSilent(): void;
}

/** Of requests that are sent ahead on one connection: each is held in memory until those before it are answered and heard. */
const aheadMax = 16;

/**
 * Keeps at most `max` connections open. Where one more comes, the one without a request under way for the longest time ends
 * for it; where each has one, the new one ends and `refused` is called. One that has more than 16 requests without a whole
 * answer ends at once: Node hands over the rest of what it has read all the same, and whoever answers is to leave alone what
 * comes over a socket that is destroyed. A constant number of steps for each connection and request.
 */
export function boundConnections(server: Server, max: number, refused: () => void): Connections {
  const open = new Set<Socket>();
  /** In the order in which they became so. */
  const idle = new Set<Socket>();
  /** How many requests of each have no whole answer yet: several may be sent ahead. */
  const underWay = new WeakMap<Socket, number>();

  function end(socket: Socket): void {
    open.delete(socket);
    idle.delete(socket);
    socket.destroy();
  }

  server.on('connection', (socket) => {
    if (open.size >= max) {
      const [longestIdle] = idle;
      if (longestIdle === undefined) {
        refused();
        socket.destroy();
        return;
      }
      end(longestIdle);
    }
    open.add(socket);
    idle.add(socket);
    socket.once('close', () => end(socket));
  });
  // Before whoever answers, who may do so at once.
  server.prependListener('request', ({ socket }, response) => {
    if (!open.has(socket)) return;
    idle.delete(socket);
    const asked = (underWay.get(socket) ?? 0) + 1;
    underWay.set(socket, asked);
    if (asked > aheadMax) return end(socket);
    response.once('close', () => {
      const left = (underWay.get(socket) ?? 1) - 1;
      underWay.set(socket, left);
      if (left === 0 && open.has(socket)) idle.add(socket);
    });
  });
  return {
    closeSilent() {
      for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
    },
  };
}
