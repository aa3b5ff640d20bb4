import { createServer } from 'node:http';
import { pageServer, type PageServerOptions } from '../walk/page-server.ts';

/** A page server that answers as far as it is told to, so that clients that run all the time can take turns. */
export interface GatedPages {
  readonly origin: string;
  /** Answers what comes before page `end` (0-based); resolves when that page is asked for, which is held. */
  answerUpTo(end: number): Promise<void>;
  /** Answers everything from now on. */
  answerAll(): void;
  close(): void;
}

/** Listens on loopback, on a port of its own; answers nothing yet. */
export async function gatedPages(options: PageServerOptions): Promise<GatedPages> {
  const pages = pageServer(options);
  let open = 0;
  let held: { readonly page: number; readonly answer: () => void } | undefined;
  let onHeld: (() => void) | undefined;

  const server = createServer((request, response) => {
    const page = Math.max(0, Number(/[?&]cursor=(-?\d+)/.exec(request.url ?? '')?.[1] ?? -1));
    const answer = (): void => void pages.emit('request', request, response);
    if (page < open) return answer();
    held = { page, answer };
    onHeld?.();
  });
  const openTo = (end: number): void => {
    open = end;
    const waiting = held;
    if (waiting === undefined || waiting.page >= end) return;
    held = undefined;
    waiting.answer();
  };

  const port = await new Promise<number>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (typeof address === 'object' && address !== null) resolve(address.port);
    });
  });
  return {
    origin: `http://127.0.0.1:${port}`,
    answerUpTo: (end) =>
      new Promise((resolve) => {
        onHeld = resolve;
        openTo(end);
      }),
    answerAll: () => openTo(Infinity),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
