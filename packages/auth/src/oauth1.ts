import { AuthError, invalidSecret, unsignable } from './auth-error.ts';
import { randomBytes } from 'node:crypto';
import { oauth1Header, type ProtocolParameters } from './oauth1-header.ts';
import { opaqueSigner } from './opaque-signer.ts';
import { possiblyEmptyFlaw, secretReader, signatureFlaw } from './secret-reader.ts';
import { signedParts, type SignedParts } from './signed-parts.ts';
import type { AuthorizationSigner, Secret } from './signer.ts';

/** Options of {@link oauth1}. */
export interface OAuth1Options {
  /** The consumer key, or a function that returns it for each request. */
  readonly consumerKey: Secret;
  /** The consumer secret, or a function that returns it for each request. It may be empty. */
  readonly consumerSecret: Secret;
  /** The access token, or a function that returns it for each request. Default: none, and no `oauth_token` is sent. */
  readonly token?: Secret;
  /** The access token's secret, or a function that returns it for each request. It requires a `token`. Default: empty. */
  readonly tokenSecret?: Secret;
  /** Returns a text that no other request with the same timestamp has. Default: 16 random bytes in hexadecimal. */
  readonly nonce?: () => string;
  /**
   * Returns the timestamp in SECONDS since 1970, which is sent unchanged: `adjustClock` then has no effect. Default: the time of `now`,
   * corrected by `adjustClock`.
   */
  readonly timestamp?: () => number | string;
  /** Returns the local time in milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number;
}

/**
 * Signs with OAuth 1.0, HMAC-SHA1 (RFC 5849), in the `Authorization` header.
 *
 * The signature covers a body only if it is a form.
 *
 * @throws {@link AuthError} `HEADGATE_INVALID_SECRET` when a secret is unusable. A function's secret is checked at each request.
 */
export function oauth1(options: OAuth1Options): AuthorizationSigner {
  const { nonce = randomNonce, now = Date.now } = options;
  const secrets = readers(options);
  let clockOffsetMs = 0;
  const timestamp = options.timestamp ?? (() => Math.floor((now() + clockOffsetMs) / 1000));
  return opaqueSigner('oauth1', {
    sign(request) {
      const { consumerKey, token, ...shared } = secrets();
      const parts = signedParts(request);
      const seconds = String(timestamp());
      if (!/^\d+$/.test(seconds)) throw noTimestamp(parts, seconds);
      const protocol = {
        oauth_consumer_key: consumerKey,
        oauth_nonce: nonce(),
        oauth_signature_method: 'HMAC-SHA1',
        oauth_timestamp: seconds,
        ...(token === undefined ? {} : { oauth_token: token }),
        oauth_version: '1.0',
      };
      refuseRepeats(parts, protocol);
      return { authorization: oauth1Header(parts, protocol, shared) };
    },
    adjustClock(offsetMs) {
      if (!Number.isFinite(offsetMs)) {
        throw new AuthError(
          'HEADGATE_INVALID_CLOCK_OFFSET',
          `A clock offset must be a finite number of milliseconds, not ${offsetMs}. Did you read the Date header of the response?`,
        );
      }
      clockOffsetMs = offsetMs;
    },
  });
}

interface Secrets {
  readonly consumerKey: string;
  readonly consumerSecret: string;
  readonly token: string | undefined;
  readonly tokenSecret: string;
}

function readers(options: OAuth1Options): () => Secrets {
  const consumerKey = reader('consumerKey', options.consumerKey);
  const consumerSecret = reader('consumerSecret', options.consumerSecret);
  // A token that is given as undefined was meant to be sent: its environment variable isn't set.
  const token = 'token' in options ? reader('token', options.token) : undefined;
  const tokenSecret = reader('tokenSecret', 'tokenSecret' in options ? options.tokenSecret : '');
  if (token === undefined && 'tokenSecret' in options && options.tokenSecret !== '') {
    throw invalidSecret('oauth1', 'tokenSecret', 'was given without a token');
  }
  return () => ({
    consumerKey: consumerKey(),
    consumerSecret: consumerSecret(),
    token: token?.(),
    tokenSecret: token === undefined ? '' : tokenSecret(),
  });
}

function reader(name: keyof Secrets, secret: Secret): () => string {
  const mayBeEmpty = name === 'consumerSecret' || name === 'tokenSecret';
  return secretReader('oauth1', name, secret, mayBeEmpty ? possiblyEmptyFlaw : signatureFlaw);
}

function noTimestamp({ method, url }: SignedParts, seconds: string): AuthError {
  const cure = 'Return whole seconds since 1970 from timestamp, or milliseconds from now.';
  return unsignable(`${method} ${url}`, `its timestamp is ${seconds}. ${cure}`);
}

function randomNonce(): string {
  return randomBytes(16).toString('hex');
}

/**
 * Throws if the request already has a parameter that the signer adds. No protocol parameter may appear twice (RFC 5849, section 3.1), and a
 * server could use either value.
 */
function refuseRepeats({ method, url, parameters }: SignedParts, protocol: ProtocolParameters): void {
  const repeated = [...Object.keys(protocol), 'oauth_signature'].find((name) => parameters.has(name));
  if (repeated !== undefined) {
    throw unsignable(`${method} ${url}`, `its query or form body holds ${repeated}, which the signer sends in the header. Remove it.`);
  }
}
