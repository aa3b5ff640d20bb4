import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';

/** A server on 127.0.0.1 that sends scripted responses. */
export interface ScriptedServer extends AsyncDisposable {
  /** Base address, without a slash at its end. */
  readonly url: string;
  /** Requests received so far. */
  readonly requests: readonly IncomingMessage[];
}

export type Respond = (request: IncomingMessage, response: ServerResponse) => void;

export interface ScriptedServerOptions {
  /** Responses to the first requests, in order. */
  readonly script?: readonly Respond[];
  /** The response to all other requests. */
  readonly otherwise: Respond;
}

export async function scriptedServer({ script = [], otherwise }: ScriptedServerOptions): Promise<ScriptedServer> {
  const requests: IncomingMessage[] = [];
  const listener: RequestListener = (request, response) => {
    const respond = script[requests.length] ?? otherwise;
    requests.push(request);
    // A client can disconnect in the middle of a response.
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
