import { unsignable } from './auth-error.ts';
import type { SignableRequest } from './signer.ts';

/** The parts of a request that a signature covers (RFC 5849). */
export interface SignedParts {
  /** The method, in uppercase. */
  readonly method: string;
  /** The base string URI, without query, fragment and default port (RFC 5849, section 3.4.1.2). */
  readonly url: string;
  /** The names of all parameters of the query and the form body, each with its decoded values (RFC 5849, section 3.4.1.3). */
  readonly parameters: ReadonlyMap<string, readonly string[]>;
}

/**
 * Throws an {@link AuthError} `HEADGATE_UNSIGNABLE_REQUEST` when the URL isn't an absolute http or https URL, or when the query or the form body
 * isn't UTF-8.
 */
export function signedParts(request: SignableRequest): SignedParts {
  const method = request.method.toUpperCase();
  const url = URL.parse(request.url);
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
  if (url === null || !isHttp) throw unsignable(`a ${method} request`, 'its URL is not an absolute http or https URL.');
  // `origin` has scheme and host in lowercase, and no default port. `pathname` is `/` if the path is empty.
  const base = `${url.origin}${url.pathname}`;
  const named = Map.groupBy(allParameters(request, url, `${method} ${base}`), ([name]) => name);
  const parameters = new Map(Array.from(named, ([name, same]) => [name, same.map(([, value]) => value)]));
  return { method, url: base, parameters };
}

function allParameters(request: SignableRequest, url: URL, shown: string): FormParameter[] {
  try {
    return [...formParameters(url.search.slice(1)), ...formParameters(formBody(request))];
  } catch (cause) {
    // The cause is the decoder's TypeError, which doesn't quote its input.
    throw unsignable(shown, 'its query or form body is not UTF-8. Percent-encode it as UTF-8.', { cause });
  }
}

/** Returns the form body, for every method (RFC 5849, section 3.4.1.3.1), or an empty text if the body isn't a form. */
function formBody({ body, contentType }: SignableRequest): string {
  const mediaType = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  if (body === undefined || mediaType !== 'application/x-www-form-urlencoded') return '';
  // HTTP clients send half of a surrogate pair as U+FFFD, and `toWellFormed` replaces it in the same way.
  return typeof body === 'string' ? body.toWellFormed() : utf8(body);
}

type FormParameter = readonly [name: string, value: string];

/**
 * Decodes `application/x-www-form-urlencoded` text into its parameters, in order, including repeated names and empty values.
 *
 * Like other form parsers, it reads `+` as a space, and keeps a percent sign that escapes nothing (RFC 5849, section 3.4.1.3.1).
 *
 * @throws TypeError when the escaped bytes aren't UTF-8.
 */
function formParameters(text: string): FormParameter[] {
  return text
    .split('&')
    .filter((part) => part !== '')
    .map((part) => {
      const equals = part.indexOf('=');
      return equals === -1 ? [decoded(part), ''] : [decoded(part.slice(0, equals)), decoded(part.slice(equals + 1))];
    });
}

function decoded(text: string): string {
  return text.replaceAll('+', ' ').replaceAll(/(?:%[0-9a-f]{2})+/gi, (escapes) => utf8(Buffer.from(escapes.replaceAll('%', ''), 'hex')));
}

function utf8(octets: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(octets);
}
