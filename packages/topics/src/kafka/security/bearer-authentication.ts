import type { AuthenticationProviderArgs, Authenticator } from 'kafkajs';
import { tokenExpiryMs } from './token-expiry.ts';

/** RFC 7628, section 3.1. */
const SEPARATOR = '\u0001';
/** RFC 6750, section 2.1; anything else could end the token's field and begin another. */
const TOKEN = /^[\w.~+/-]+=*$/;
const LONGEST_WORD = 100;

/** Who authenticates a connection, as kafkajs asks for it. */
type Authentication = (connection: Pick<AuthenticationProviderArgs, 'saslAuthenticate'>) => Authenticator;

/**
 * Authenticates by a bearer token (RFC 7628), which is asked for each time. Rejects with what `token` rejects with, or with
 * `TokenRefusedError`, which says why the brokers refuse it and never holds it.
 */
export function bearerAuthentication(token: () => Promise<{ readonly value: string }>): Authentication {
  return ({ saslAuthenticate }) => ({
    async authenticate() {
      const { value } = await token();
      if (!TOKEN.test(value)) throw new TokenRefusedError('The token for the brokers is empty, or has a character that no token has');
      const response = { decode: (bytes: Buffer) => bytes, parse: (bytes: Buffer) => withoutLength(bytes).toString() };
      const request = { encode: () => withLength(`n,,${SEPARATOR}auth=Bearer ${value}${SEPARATOR}${SEPARATOR}`) };
      const refusal = await saslAuthenticate({ request, response });
      if (refusal === undefined || refusal === '') return;
      // The exchange is only over when the refusal has been acknowledged (section 3.2.3); the brokers' error says less than the refusal.
      await saslAuthenticate({ request: { encode: () => withLength(SEPARATOR) }, response }).catch(() => undefined);
      throw new TokenRefusedError(`The brokers refuse the token (OAUTHBEARER): ${statusOf(refusal)}${expired(value)}`);
    },
  });
}

/** Nobody is let in with this token. */
class TokenRefusedError extends Error {
  override readonly name = 'TokenRefusedError';
  readonly code = 'HEADGATE_KAFKA_TOKEN_REFUSED';
  readonly retryable = false;
  /** What kafkajs goes by. */
  readonly retriable = false;
}

/** `status` of section 3.2.2; the rest is the brokers' own words, which may be any. */
function statusOf(refusal: string): string {
  const [, status] = /"status"\s*:\s*"([\w .-]+)"/.exec(refusal) ?? [];
  return status?.slice(0, LONGEST_WORD) ?? 'without a status';
}

function expired(token: string): string {
  const expiryMs = tokenExpiryMs(token);
  return expiryMs === undefined || expiryMs > Date.now() ? '' : `; it expired at ${new Date(expiryMs).toISOString()}`;
}

/** kafkajs has both ways with a length of four bytes before it. */
function withLength(text: string): Buffer {
  const bytes = Buffer.alloc(4 + Buffer.byteLength(text));
  bytes.writeInt32BE(bytes.length - 4);
  bytes.write(text, 4);
  return bytes;
}

function withoutLength(bytes: Buffer): Buffer {
  return bytes.subarray(4);
}
