import { opaqueSigner } from './opaque-signer.ts';
import { headerFlaw } from './secret-reader.ts';
import { secretSource } from './secret-source.ts';
import type { Secret, SecretProvider, Signer, SignerOf } from './signer.ts';

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
 * @throws {@link AuthError} as without `place`; and a `TypeError` when `place.header` isn't a valid header name.
 */
export function apiKey(key: Secret | SecretProvider, place: ApiKeyPlace): Signer;
export function apiKey(key: Secret | SecretProvider, place?: ApiKeyPlace): Signer {
  const source = secretSource({ signer: 'apiKey', name: 'key', secret: key, flaw: headerFlaw });
  if (place === undefined)
    return opaqueSigner(
      'apiKey',
      source.signer((secret) => ({ authorization: secret })),
    );
  if ('query' in place)
    return opaqueSigner(
      'apiKey',
      source.signer((secret) => ({ query: { [place.query]: secret } })),
    );
  if ('body' in place)
    return opaqueSigner(
      'apiKey',
      source.signer((secret) => ({ body: { [place.body]: secret } })),
    );
  // The characters of a header name: RFC 9110, section 5.6.2.
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(place.header)) throw new TypeError(`${JSON.stringify(place.header)} isn't a header name.`);
  return opaqueSigner(
    'apiKey',
    source.signer((secret) => ({ headers: { [place.header.toLowerCase()]: secret } })),
  );
}
