import { opaqueSigner } from './opaque-signer.ts';
import { headerFlaw } from './secret-reader.ts';
import { secretSource } from './secret-source.ts';
import type { Secret, SecretProvider, Signer, SignerOf } from './signer.ts';

/** Place of the key in a request. */
export type ApiKeyPlace =
  | {
      /** Header that carries only the key, such as `x-api-key`. */
      readonly header: string;
    }
  | {
      /** Query parameter, such as `api_key`. Services and proxies write addresses to their logs: use a header if the service accepts one. */
      readonly query: string;
    }
  | {
      /** A member of the JSON body, or a field of the form. */
      readonly body: string;
    };

/**
 * Signs with an unchanged key: `Authorization: <key>`, or in the given `place`.
 *
 * @param key the key, or a function that gives it at each request; it may return a promise
 * @throws {@link AuthError} `HEADGATE_INVALID_SECRET` when the key is empty or can't be sent in a header: at once, or at the request when it is a function;
 * a `TypeError` for a header that can't be.
 */
export function apiKey<Given extends Secret | SecretProvider>(key: Given): SignerOf<Given>;
/** As above, with the key in the header, the parameter of the query, or the member of the body that `place` names. No `Authorization` header is sent. */
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
  // RFC 9110, section 5.6.2.
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(place.header)) throw new TypeError(`${JSON.stringify(place.header)} isn't a header name.`);
  return opaqueSigner(
    'apiKey',
    source.signer((secret) => ({ headers: { [place.header.toLowerCase()]: secret } })),
  );
}
