import type { Signer } from '@headgate/auth';
import { ACCEPT_ENCODING } from './decoded-body.ts';
import type { SourceRequest } from './source-definition.ts';

export interface WireRequestOptions {
  readonly request: SourceRequest;
  readonly basePath: string;
  readonly userAgent: string;
}

/** A request as it goes to the wire, but for its Authorization header. */
export interface WireRequest {
  readonly method: 'GET' | 'POST';
  /** With query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Makes of a source's request what goes to the wire. Throws for text that can't be encoded. */
export function wireRequest({ request, basePath, userAgent }: WireRequestOptions): WireRequest {
  const { method, query = {}, body } = request;
  const search = Object.entries(query).map(([name, value]) => `${percentEncoded(name)}=${percentEncoded(value)}`);
  const path = `${basePath}${request.path}${search.length > 0 ? `?${search.join('&')}` : ''}`;
  const headers: Record<string, string> = { accept: 'application/json', 'accept-encoding': ACCEPT_ENCODING, 'user-agent': userAgent };
  for (const [name, value] of Object.entries(request.headers ?? {})) headers[name.toLowerCase()] = value;
  return { method, path, headers, ...(body !== undefined && { body }) };
}

export interface AuthorizationOfOptions {
  readonly request: WireRequest;
  readonly signer: Signer;
  readonly origin: string;
}

/** The Authorization header of a request: a secret. Throws what the signer throws. */
export function authorizationOf({ request: { method, path, headers, body }, signer, origin }: AuthorizationOfOptions): string {
  const contentType = headers['content-type'];
  const { authorization } = signer.sign({
    method,
    url: `${origin}${path}`,
    ...(body !== undefined && { body }),
    ...(contentType !== undefined && { contentType }),
  });
  return authorization;
}

/** RFC 3986, section 2.3: only unreserved characters stay; signatures (RFC 5849, section 3.6) count on it. */
function percentEncoded(text: string): string {
  if (/^[\w.~-]*$/.test(text)) return text;
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
