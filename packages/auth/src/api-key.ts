import { secretSigner } from './secret-signer.ts';
import type { Secret, SecretProvider, Signed, Signer, SignerOf } from './signer.ts';

/** The place of the key in a request. */
export type ApiKeyPlace =
  | {
      /** Header that contains only the key, such as `x-api-key`. */
      readonly header: string;
    }
  | {
      /**
       * Query parameter, such as `api_key`. Services and proxies can write URLs to their logs, so use a header if the service accepts one.
       */
      readonly query: string;
    }
  | {
      /** Member of the JSON body, or field of the form. */
      readonly body: string;
    };

/**
 * Sends the key unchanged: `Authorization: <key>`.
 *
 * @param key the key, or a function that returns it for each request, possibly as a promise
 * @throws {@link AuthError} `HEADGATE_INVALID_SECRET` when the key is empty or can't be sent in a header. A function's key is checked at
 * each request.
 */
export function apiKey<Given extends Secret | SecretProvider>(key: Given): SignerOf<Given>;
/**
 * Sends the key unchanged in the header, query parameter or body member that `place` names.
 *
 * @throws {@link AuthError} as without `place`; and a `TypeError` when `place` has no valid name.
 */
export function apiKey(key: Secret | SecretProvider, place: ApiKeyPlace): Signer;
export function apiKey(key: Secret | SecretProvider, place?: ApiKeyPlace): Signer {
  return secretSigner('apiKey', 'key', key, place === undefined ? (secret) => ({ authorization: secret }) : signedAt(place));
}

function signedAt(place: ApiKeyPlace): (secret: string) => Signed {
  if ('query' in place) {
    const name = checked('query parameter', place.query);
    return (secret) => ({ query: { [name]: secret } });
  }
  if ('body' in place) {
    const name = checked('body member', place.body);
    return (secret) => ({ body: { [name]: secret } });
  }
  // The characters of a header name: RFC 9110, section 5.6.2.
  const name = checked('header', place.header, /^[\w!#$%&'*+.^`|~-]+$/).toLowerCase();
  return (secret) => ({ headers: { [name]: secret } });
}

function checked(kind: string, name: unknown, pattern = /./): string {
  if (typeof name === 'string' && pattern.test(name)) return name;
  throw new TypeError(`apiKey: ${JSON.stringify(name)} isn't a ${kind} name.`);
}
