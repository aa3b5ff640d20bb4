import type { CheckedOptions } from '../checked-options.ts';
import type { PathRequest, SourceRequest } from '../source-definition.ts';
import { SourceError } from '../source-error.ts';
import { ACCEPT_ENCODING } from './response.ts';

type Base = Pick<CheckedOptions, 'origin' | 'basePath'>;

/** A request as sent, except for the additions of its signer. */
export interface WireRequest {
  readonly method: NonNullable<SourceRequest['method']>;
  /** Path with the query. */
  readonly path: string;
  /** Headers; their names are in lowercase. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/**
 * Converts a source's request to the form in which it is sent. Throws a `URIError` for text that can't be encoded, and a `SourceError`
 * (`HEADGATE_FOREIGN_ADDRESS`) for an address outside of the base address.
 */
export function wireRequest(
  service: string,
  subject: string,
  request: SourceRequest,
  options: Pick<CheckedOptions, 'origin' | 'basePath' | 'userAgent'>,
): WireRequest {
  const { method = 'GET', body } = request;
  const path =
    request.url === undefined ? `${options.basePath}${request.path}${queryOf(request)}` : pathOf(service, subject, request.url, options);
  const headers: Record<string, string> = {
    accept: 'application/json',
    'accept-encoding': ACCEPT_ENCODING,
    'user-agent': options.userAgent,
  };
  for (const [name, value] of Object.entries(request.headers ?? {})) headers[name.toLowerCase()] = value;
  return { method, path, headers, ...(body !== undefined && { body }) };
}

function queryOf({ query = {} }: PathRequest): string {
  const pairs = Object.entries(query).flatMap(([name, values = []]) =>
    (typeof values === 'string' ? [values] : values).map((value) => `${percentEncoded(name)}=${percentEncoded(value)}`),
  );
  return pairs.length > 0 ? `?${pairs.join('&')}` : '';
}

/**
 * Returns the path and query of an address under the base address. Errors show only the origin of any other address, because its query may
 * contain a secret.
 */
function pathOf(service: string, subject: string, url: string, base: Base): string {
  const { origin, basePath } = base;
  const refused = (what: string): SourceError =>
    new SourceError({
      code: 'HEADGATE_FOREIGN_ADDRESS',
      retryable: false,
      service,
      subject,
      message: `${subject}: the next address ${what}, so Headgate didn't request it. Credentials are sent only within ${origin}${basePath}.`,
    });
  const address = url.startsWith('/') ? URL.parse(url, origin) : URL.parse(url);
  if (address === null) throw refused('is neither absolute nor a path with a leading slash');
  if (address.origin !== origin) throw refused(`leads to ${address.origin}`);
  if (!isUnder(base, address)) throw refused(`leads out of ${basePath}`);
  return `${address.pathname}${address.search}`;
}

/** True when an address is at or under the base address. */
export function isUnder({ origin, basePath }: Base, address: URL): boolean {
  return address.origin === origin && `${address.pathname}/`.startsWith(`${basePath}/`);
}

/** Percent-encodes all but RFC 3986's unreserved characters (section 2.3). Throws a `URIError` for half a surrogate pair. */
export function percentEncoded(text: string): string {
  if (/^[\w.~-]*$/.test(text)) return text;
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
