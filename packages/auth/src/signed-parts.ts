import { unsignable } from './auth-error.ts';
import { formParameters, type FormParameter } from './form-parameters.ts';
import type { SignableRequest } from './signer.ts';

/** The parts of a request that a signature covers, in the one form the `oauth-1.0a` package signs as RFC 5849 wants it. */
export interface SignedParts {
  /** The method in uppercase. */
  readonly method: string;
  /** The base string URI: no query, no fragment, no default port (RFC 5849, section 3.4.1.2). */
  readonly url: string;
  /** Every parameter of query and form body: all values of a name together (RFC 5849, section 3.4.1.3). */
  readonly parameters: ReadonlyMap<string, readonly string[]>;
}

/**
 * Takes a request apart for signing.
 *
 * @throws {@link AuthError} `HEADGATE_UNSIGNABLE_REQUEST` when the URL is not absolute http(s), or when query or form body are not UTF-8.
 */
export function signedParts(request: SignableRequest): SignedParts {
  const method = request.method.toUpperCase();
  const url = URL.parse(request.url);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw unsignable(`a ${method} request`, 'its URL is not an absolute http or https URL.');
  }
  // `origin` has scheme and host in lowercase and leaves the default port out; `pathname` of an empty path is `/`.
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
    // The decoder's TypeError quotes nothing of what it read.
    throw unsignable(shown, 'its query or form body is not UTF-8. Percent-encode it as UTF-8.', { cause });
  }
}

/** The method doesn't matter: a form body is signed for every method (RFC 5849, section 3.4.1.3.1). */
function formBody({ body, contentType }: SignableRequest): string {
  const mediaType = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  if (body === undefined || mediaType !== 'application/x-www-form-urlencoded') {
    return '';
  }
  // Half a surrogate pair goes over the wire as U+FFFD.
  return typeof body === 'string' ? body.toWellFormed() : new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
}
