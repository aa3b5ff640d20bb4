import { unsignable } from './auth-error.ts';
import { formParameters, type FormParameter } from './form-parameters.ts';
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
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw unsignable(`a ${method} request`, 'its URL is not an absolute http or https URL.');
  }
  // `origin` has scheme and host in lowercase, and no default port. `pathname` is `/` if the path is empty.
  const base = `${url.origin}${url.pathname}`;
  const parameters = new Map<string, string[]>();
  for (const [name, value] of allParameters(request, url, `${method} ${base}`)) {
    const values = parameters.get(name);
    if (values === undefined) {
      parameters.set(name, [value]);
    } else {
      values.push(value);
    }
  }
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
  if (body === undefined || mediaType !== 'application/x-www-form-urlencoded') {
    return '';
  }
  // HTTP clients send half of a surrogate pair as U+FFFD, and `toWellFormed` replaces it in the same way.
  return typeof body === 'string' ? body.toWellFormed() : new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
}
