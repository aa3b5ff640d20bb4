import { createHmac, timingSafeEqual } from 'node:crypto';

export interface SignedRequest {
  readonly method: string;
  /** Absolute URL, with the query as received. */
  readonly url: string;
  readonly authorization: string;
  readonly contentType?: string;
  readonly body?: string;
}

/** The two secrets that make the key of a signature (RFC 5849, section 3.4.2). */
export interface OAuthSecrets {
  readonly consumerSecret: string;
  /** Default: empty, for a request without a token. */
  readonly tokenSecret?: string;
}

/**
 * Returns the protocol parameters of an `OAuth` Authorization header, without `realm` (RFC 5849, section 3.5.1). Undefined if the header
 * has another scheme, is malformed, or contains a parameter twice.
 */
export function parseOAuthHeader(authorization: string): ReadonlyMap<string, string> | undefined {
  const [, list] = /^OAuth\s+(.*)$/isu.exec(authorization) ?? [];
  if (list === undefined) return undefined;
  const parameters = new Map<string, string>();
  for (const item of list.split(',')) {
    const [, rawName, rawValue] = /^\s*([^=\s"]+)="([^"]*)"\s*$/u.exec(item) ?? [];
    if (rawName === undefined || rawValue === undefined) return undefined;
    const name = percentDecode(rawName);
    const value = percentDecode(rawValue);
    if (name === undefined || value === undefined || parameters.has(name)) return undefined;
    if (name.toLowerCase() !== 'realm') parameters.set(name, value);
  }
  return parameters;
}

/**
 * Returns the signed text (RFC 5849, section 3.4.1). Undefined if the header isn't a valid OAuth header, or if an escape in the query or
 * body is malformed.
 */
export function signatureBaseString(request: SignedRequest): string | undefined {
  const oauth = parseOAuthHeader(request.authorization);
  if (oauth === undefined) return undefined;
  const fragmentless = request.url.split('#', 1)[0] ?? '';
  const questionMark = fragmentless.indexOf('?');
  const query = questionMark === -1 ? '' : fragmentless.slice(questionMark + 1);
  const isForm = /^application\/x-www-form-urlencoded\s*(?:;|$)/iu.test(request.contentType ?? '');
  const pairs: [string, string][] = [...oauth].filter(([name]) => name !== 'oauth_signature');
  for (const text of [query, isForm ? (request.body ?? '') : '']) {
    const more = formPairs(text);
    if (more === undefined) return undefined;
    pairs.push(...more);
  }
  const normalised = pairs
    .map(([name, value]): [string, string] => [percentEncode(name), percentEncode(value)])
    .toSorted(([nameA, valueA], [nameB, valueB]) => compare(nameA, nameB) || compare(valueA, valueB))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
  // URL lowercases scheme and host and drops the scheme's default port, as section 3.4.1.2 requires.
  const { protocol, host, pathname } = new URL(fragmentless);
  return [request.method.toUpperCase(), `${protocol}//${host}${pathname}`, normalised].map(percentEncode).join('&');
}

/** Returns whether the request's HMAC-SHA1 signature matches these secrets (RFC 5849, section 3.4.2). */
export function hasValidSignature(request: SignedRequest, secrets: OAuthSecrets): boolean {
  const oauth = parseOAuthHeader(request.authorization);
  const given = oauth?.get('oauth_signature');
  const baseString = signatureBaseString(request);
  if (given === undefined || baseString === undefined || oauth?.get('oauth_signature_method') !== 'HMAC-SHA1') return false;
  const key = `${percentEncode(secrets.consumerSecret)}&${percentEncode(secrets.tokenSecret ?? '')}`;
  const expected = Buffer.from(createHmac('sha1', key).update(baseString).digest('base64'));
  const offered = Buffer.from(given);
  return offered.length === expected.length && timingSafeEqual(offered, expected);
}

/** Returns whether a header names a consumer and has a plausible HMAC-SHA1 signature. Verifying the signature would take the secrets. */
export function isWellFormed(oauth: ReadonlyMap<string, string>): boolean {
  const isSigned = oauth.get('oauth_signature_method') === 'HMAC-SHA1' && /^[A-Za-z0-9+/]{27}=$/u.test(oauth.get('oauth_signature') ?? '');
  return isSigned && (oauth.get('oauth_consumer_key') ?? '') !== '';
}

function formPairs(text: string): [string, string][] | undefined {
  const pairs: [string, string][] = [];
  for (const item of text.split('&')) {
    if (item === '') continue;
    const equals = item.indexOf('=');
    const name = percentDecode((equals === -1 ? item : item.slice(0, equals)).replaceAll('+', ' '));
    const value = percentDecode((equals === -1 ? '' : item.slice(equals + 1)).replaceAll('+', ' '));
    if (name === undefined || value === undefined) return undefined;
    pairs.push([name, value]);
  }
  return pairs;
}

/** Percent-encodes everything but letters, digits, `-`, `.`, `_` and `~` (RFC 5849, section 3.6). */
function percentEncode(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/gu, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

function percentDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Compares by code units. Percent-encoded text is ASCII, so this is the byte order that the RFC requires. */
function compare(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}
