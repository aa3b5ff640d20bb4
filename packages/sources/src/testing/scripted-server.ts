import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';

/** A service on 127.0.0.1 that answers by a script. */
export interface ScriptedServer extends AsyncDisposable {
  /** Base address, without a slash at its end. */
  readonly url: string;
  /** Requests read so far. */
  readonly requests: readonly IncomingMessage[];
}

export type Respond = (request: IncomingMessage, response: ServerResponse) => void;

export interface ScriptedServerOptions {
  /** Answers to the first requests, in order. */
  readonly script?: readonly Respond[];
  /** The response to all others. */
  readonly otherwise: Respond;
}

export async function scriptedServer({ script = [], otherwise }: ScriptedServerOptions): Promise<ScriptedServer> {
  const requests: IncomingMessage[] = [];
  const listener: RequestListener = (request, response) => {
    const respond = script[requests.length] ?? otherwise;
    requests.push(request);
    // A client may disconnect in the middle.
    response.on('error', () => undefined);
    request.on('error', () => undefined);
    request.resume();
    respond(request, response);
  };
  const server = createServer({ keepAlive: true }, listener);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}
