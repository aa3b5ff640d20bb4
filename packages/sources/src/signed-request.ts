import type { Signer } from '@headgate/auth';
import { ACCEPT_ENCODING } from './decoded-body.ts';
import type { SourceRequest } from './source-definition.ts';

export interface SignedRequestOptions {
  readonly request: SourceRequest;
  readonly signer: Signer;
  readonly origin: string;
  readonly basePath: string;
  readonly userAgent: string;
}

export interface SignedRequest {
  readonly method: 'GET' | 'POST';
  /** With query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The secret in `headers`. */
  readonly authorization: string;
}

/** Makes of a source's request what goes to the wire. Throws what the signer throws. */
export function signedRequest({ request, signer, origin, basePath, userAgent }: SignedRequestOptions): SignedRequest {
  const { method, query = {}, body } = request;
  const search = Object.entries(query).map(([name, value]) => `${percentEncoded(name)}=${percentEncoded(value)}`);
  const path = `${basePath}${request.path}${search.length > 0 ? `?${search.join('&')}` : ''}`;
  const headers: Record<string, string> = { accept: 'application/json', 'accept-encoding': ACCEPT_ENCODING, 'user-agent': userAgent };
  for (const [name, value] of Object.entries(request.headers ?? {})) headers[name.toLowerCase()] = value;
  const contentType = headers['content-type'];
  const { authorization } = signer.sign({
    method,
    url: `${origin}${path}`,
    ...(body !== undefined && { body }),
    ...(contentType !== undefined && { contentType }),
  });
  headers['authorization'] = authorization;
  return { method, path, headers, authorization, ...(body !== undefined && { body }) };
}

/** RFC 3986, section 2.3: only unreserved characters stay; signatures (RFC 5849, section 3.6) count on it. */
function percentEncoded(text: string): string {
  if (/^[\w.~-]*$/.test(text)) return text;
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
