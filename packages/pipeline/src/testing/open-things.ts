import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { type Clock, systemClock } from '@headgate/throttle';

/** Reports the timers and connections that a run leaves open. */
export interface OpenThings extends Disposable {
  /** The machine's clock. Its timers are counted. */
  readonly clock: Clock;
  /** Returns descriptions of the open timers and connections. Empty if there are none. */
  left(): readonly string[];
}

const NEW_SOCKET = 'net.client.socket';

/** Starts to watch the timers of the returned clock, and the connections of this process to a service. */
export function openThings(serviceUrl: string): OpenThings {
  const { port } = new URL(serviceUrl);
  const sockets = new Set<Socket>();
  const timers = new Set<number>();
  let timer = 0;
  const onSocket = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket };
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  };
  subscribe(NEW_SOCKET, onSocket);
  const system = systemClock();
  return {
    clock: {
      ...system,
      schedule(delayMs, callback) {
        timer += 1;
        const own = timer;
        timers.add(own);
        const cancel = system.schedule(delayMs, () => {
          timers.delete(own);
          callback();
        });
        return () => {
          timers.delete(own);
          cancel();
        };
      },
    },
    left() {
      const open = [...sockets].filter((socket) => !socket.destroyed && String(socket.remotePort) === port).length;
      return [...(timers.size > 0 ? [`${timers.size} timers`] : []), ...(open > 0 ? [`${open} connections to the service`] : [])];
    },
    [Symbol.dispose]() {
      unsubscribe(NEW_SOCKET, onSocket);
    },
  };
}
