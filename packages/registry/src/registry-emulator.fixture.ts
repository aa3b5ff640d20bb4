import { once } from 'node:events';
import { type IncomingMessage, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A schema registry that keeps schemas in memory. A schema has the same ID under all subjects. */
export interface RegistryEmulator extends AsyncDisposable {
  readonly url: string;
  /** The answered requests, such as `POST /subjects/avro.pages-value/versions`. */
  readonly requests: readonly { readonly line: string; readonly authorization: string | undefined; readonly body: string }[];
  /** Answers every further request so, instead of as a registry does. Null: never answers. */
  failing: { readonly status: number; readonly body: string } | null | undefined;
  /** The schemas by ID, which counts from 1. */
  readonly schemas: readonly { readonly schema: string; readonly schemaType?: string }[];
}

export async function startRegistryEmulator(): Promise<RegistryEmulator> {
  const schemas: { schema: string; schemaType?: string; subject: string }[] = [];
  const requests: RegistryEmulator['requests'][number][] = [];
  let failing: RegistryEmulator['failing'];
  const server = createServer((request, response) => {
    void answer(request).then(([status, body]) => {
      if (failing === null) return;
      response.writeHead(failing?.status ?? status, { 'content-type': 'application/vnd.schemaregistry.v1+json' });
      response.end(failing?.body ?? JSON.stringify(body));
    });
  });

  async function answer(request: IncomingMessage): Promise<readonly [status: number, body: object]> {
    const { method, url = '', headers } = request;
    const body = await text(request);
    requests.push({ line: `${method} ${url}`, authorization: headers.authorization, body });
    const [, subject = '', versions] = /^\/subjects\/([^/]+)(\/versions)?$/.exec(url) ?? [];
    if (method === 'POST' && subject !== '') return idOf(subject, body, versions !== undefined);
    if (url.startsWith('/compatibility/')) return [404, { error_code: 40401, message: 'Subject not found' }];
    const found = schemas[Number(/^\/schemas\/ids\/(\d+)$/.exec(url)?.[1]) - 1];
    return found === undefined ? [404, { error_code: 40403, message: 'Schema not found' }] : [200, found];
  }

  function idOf(subject: string, body: string, isNew: boolean): readonly [status: number, body: object] {
    const { schema, schemaType } = JSON.parse(body) as { readonly schema: string; readonly schemaType?: string };
    if (isNew) schemas.push({ schema, ...(schemaType !== undefined && { schemaType }), subject });
    const index = schemas.findIndex((one) => one.schema === schema && (isNew || one.subject === subject));
    return index === -1 ? [404, { error_code: 40403, message: 'Schema not found' }] : [200, { id: index + 1 }];
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    schemas,
    get failing() {
      return failing;
    },
    set failing(given) {
      failing = given;
    },
    async [Symbol.asyncDispose]() {
      if (!server.listening) return;
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
