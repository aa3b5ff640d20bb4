import { TopicLogError } from '../../topic-log-error.ts';
import type { Authentication } from '../client/broker-connection.ts';

/** Separates the fields of a message (RFC 7628, section 3.1). */
const SEPARATOR = '\u0001';
/** Syntax of a token (RFC 6750, section 2.1). Any other character could end the token's field and begin another one. */
const TOKEN = /^[\w.~+/-]+=*$/;
const MAX_WORD = 100;

/** Tolerance for how far a broker's clock is ahead of this machine's, ms. */
const CLOCKS_APART_MS = 60_000;

/** A token to present to the brokers. */
export interface BearerToken {
  /** The token itself, a secret: sent to the brokers, never logged. */
  readonly value: string;
  /**
   * Where a fresh token will appear, such as the name of a file. If set, the driver waits for a fresh token instead of presenting an expired one to
   * the brokers. Default: no fresh token comes, and a refused token ends the calls in flight.
   */
  readonly renewedIn?: string;
}

/**
 * Authenticates with a bearer token (RFC 7628), and calls `token` each time. Rejects with the rejection of `token`; with a `TopicLogError`
 * (HEADGATE_KAFKA_TOKEN_REFUSED) that says why the brokers refuse the token; or with a `StaleTokenError` while the driver waits for a fresh one.
 * The driver's errors never contain the token.
 */
export function bearerAuthentication(token: () => Promise<BearerToken>): Authentication['authenticate'] {
  /**
   * True after the brokers have accepted a token. A token that they refuse later has probably expired; one that they refuse before may belong to
   * another cluster.
   */
  let wasTaken = false;
  let refused: string | undefined;
  return async (exchange) => {
    const { value, renewedIn } = await token();
    if (!TOKEN.test(value)) throw tokenRefused('The token for the brokers is empty, or has a character that is invalid in tokens');
    const expiryMs = tokenExpiryMs(value) ?? Infinity;
    if (renewedIn !== undefined && (value === refused || expiryMs <= Date.now())) throw new StaleTokenError({ expiryMs, renewedIn });
    const refusal = String(await exchange(Buffer.from(`n,,${SEPARATOR}auth=Bearer ${value}${SEPARATOR}${SEPARATOR}`)));
    if (refusal === '') {
      wasTaken = true;
      return;
    }
    // The client must acknowledge the refusal to end the exchange (section 3.2.3). The brokers then respond with an error, which says less.
    await exchange(Buffer.from(SEPARATOR)).catch(() => undefined);
    if (renewedIn !== undefined && (wasTaken || expiryMs <= Date.now() + CLOCKS_APART_MS)) {
      refused = value;
      throw new StaleTokenError({ expiryMs, renewedIn });
    }
    throw tokenRefused(`The brokers rejected the token (OAUTHBEARER): ${statusOf(refusal)}${expired(value)}`);
  };
}

/** True when the driver waits for a fresh token. */
export function isStaleToken(error: unknown): boolean {
  return error instanceof Error && (error instanceof StaleTokenError || isStaleToken(error.cause));
}

/**
 * The token has expired or was refused, and a fresh one will come. The error has no Headgate code, because `passes` would then treat it as final.
 */
class StaleTokenError extends Error {
  override readonly name = 'StaleTokenError';
  readonly retryable = true;

  constructor({ expiryMs, renewedIn }: { readonly expiryMs: number; readonly renewedIn: string }, options?: ErrorOptions) {
    const what = expiryMs < Infinity ? `expired at ${new Date(expiryMs).toISOString()}` : 'was rejected';
    super(`The token for the brokers ${what}. Write a new one into ${renewedIn}`, options);
  }
}

function tokenRefused(message: string): Error {
  return new TopicLogError({ code: 'HEADGATE_KAFKA_TOKEN_REFUSED', message });
}

/** Returns the `status` of a refusal (section 3.2.2). The rest of it is the brokers' own text, which can be anything. */
function statusOf(refusal: string): string {
  const [, status] = /"status"\s*:\s*"([\w .-]+)"/.exec(refusal) ?? [];
  return status?.slice(0, MAX_WORD) ?? 'without a status';
}

function expired(token: string): string {
  const expiryMs = tokenExpiryMs(token);
  return expiryMs === undefined || expiryMs > Date.now()
    ? ''
    : `; it expired at ${new Date(expiryMs).toISOString()}. Start again with a new one`;
}

const LATEST_MS = 8.64e15;

/**
 * Returns when a JSON web token expires (RFC 7519, section 4.1.4), ms since the epoch; undefined if the token doesn't say, or has another format.
 * Verifies nothing.
 */
function tokenExpiryMs(token: string): number | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    if (typeof claims !== 'object' || claims === null || !('exp' in claims) || typeof claims.exp !== 'number') return undefined;
    const expiryMs = claims.exp * 1000;
    return Math.abs(expiryMs) <= LATEST_MS ? expiryMs : undefined;
  } catch {
    return undefined;
  }
}
