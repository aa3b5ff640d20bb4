import { once } from 'node:events';
import { type IncomingMessage, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import avsc from 'avsc';

/** A schema registry that keeps schemas in memory. A schema has the same ID under all subjects. */
export interface RegistryEmulator extends AsyncDisposable {
  readonly url: string;
  /** The answered requests, such as `POST /subjects/avro.pages-value/versions`. */
  readonly requests: readonly string[];
}

/** Starts a registry on a free port of this machine. It answers `POST /subjects/X/versions` and `GET /schemas/ids/N` as Confluent's does. */
export async function startRegistryEmulator(): Promise<RegistryEmulator> {
  /** The schemas by ID, which counts from 1. */
  const schemas: string[] = [];
  const requests: string[] = [];
  const server = createServer((request, response) => {
    void answer(request).then(([status, body]) => {
      requests.push(`${request.method} ${request.url}`);
      response.writeHead(status, { 'content-type': 'application/vnd.schemaregistry.v1+json' }).end(JSON.stringify(body));
    });
  });

  async function answer(request: IncomingMessage): Promise<readonly [status: number, body: object]> {
    const { method, url = '' } = request;
    const body = await text(request);
    if (method === 'POST' && /^\/subjects\/[^/]+\/versions$/.test(url)) return register(body);
    const id = /^\/schemas\/ids\/(\d+)$/.exec(url)?.[1];
    const schema = schemas[Number(id) - 1];
    if (method === 'GET' && schema !== undefined) return [200, { schema }];
    return id === undefined
      ? [404, { error_code: 404, message: 'HTTP 404 Not Found' }]
      : [404, { error_code: 40403, message: 'Schema not found' }];
  }

  function register(body: string): readonly [status: number, body: object] {
    try {
      const { schema } = JSON.parse(body) as { readonly schema: string };
      avsc.Type.forSchema(JSON.parse(schema) as avsc.Schema);
      if (!schemas.includes(schema)) schemas.push(schema);
      return [200, { id: schemas.indexOf(schema) + 1 }];
    } catch (error) {
      return [422, { error_code: 42201, message: `Invalid Avro schema: ${(error as Error).message}` }];
    }
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
