import { type Signer, apiKey, bearer, oauth1 } from '@headgate/auth';
import {
  type Credential,
  type HttpResponse,
  SourceError,
  type SourceOptions,
  type Verdict,
  creditPool,
  defineSource,
  jsonBody,
} from '@headgate/sources';
import type { Clock } from '@headgate/throttle';
import type { RestOptions } from './language.ts';
import { waitAt } from './evidence.ts';
import { kindOf, numberOf } from './json-value.ts';

export type RestCredential = RestOptions['credentials'][number];

/** Options of the requests that fetch tokens, such as proxy and timeouts. */
export interface TokenOptions extends Omit<SourceOptions, 'credentials' | 'limit'> {
  readonly clock: Clock;
}

export function credentialOf(given: RestCredential, options: TokenOptions): Credential {
  return { name: given.name, signer: signerOf(given, options) };
}

function signerOf(given: RestCredential, options: TokenOptions): Signer {
  const { bearer: token, basic, key, header, query, body, oauth1: signed, token: requested } = given;
  if (token !== undefined) return bearer(token);
  if (basic !== undefined) return apiKey(() => basicOf(basic.user, basic.password?.() ?? ''));
  if (key !== undefined) {
    if (header !== undefined) return apiKey(key, { header });
    if (query !== undefined) return apiKey(key, { query });
    return body === undefined ? apiKey(key) : apiKey(key, { body });
  }
  if (signed !== undefined) {
    return oauth1({ ...signed, now: () => options.clock.epochMs() });
  }
  return requested === undefined ? { sign: () => ({}) } : tokenSigner(given.name, requested, options);
}

/** The header value of basic authentication (RFC 7617). */
function basicOf(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

type Token = NonNullable<RestCredential['token']>;

/** A token is renewed this long (ms) before it expires, or after nine tenths of its lifetime if that is later. */
const EARLY_MS = 60_000;

/** Requests a token (OAuth 2, RFC 6749 sections 4.4 and 6, or a login), and keeps it until it is refused or about to expire. */
function tokenSigner(name: string, token: Token, options: TokenOptions): Signer {
  const { clock } = options;
  let kept: { readonly text: string; readonly until: number } | undefined;
  // `bearer` and `apiKey` hide the errors of a provider, because such errors could contain the secret. A TokenError contains none and is shown.
  // All requests that wait for the same token show it, so only the next request of a token clears it.
  let failure: TokenError | undefined;
  const provider = async ({ refused, signal }: { readonly refused: boolean; readonly signal: AbortSignal }): Promise<string> => {
    failure = undefined;
    if (kept !== undefined && !refused && clock.epochMs() < kept.until) return kept.text;
    try {
      const { text, lifetimeMs } = await requestedToken(name, token, { ...options, signal });
      kept = { text, until: clock.epochMs() + lifetimeMs - Math.min(EARLY_MS, lifetimeMs / 10) };
      return text;
    } catch (error) {
      const { message, retryable } = Object(error) as { readonly message?: string; readonly retryable?: boolean };
      failure = new TokenError(`Requesting the token failed: ${message}`, retryable === true, error);
      throw failure;
    }
  };
  const signer: Signer = token.header === undefined ? bearer(provider) : apiKey(provider, { header: token.header });
  return {
    ...signer,
    async sign(request, given) {
      try {
        return await signer.sign(request, given);
      } catch (error) {
        throw failure ?? error;
      }
    },
  };
}

class TokenError extends Error {
  readonly code = 'HEADGATE_TOKEN_UNAVAILABLE';
  readonly retryable: boolean;

  constructor(message: string, retryable: boolean, cause: unknown) {
    super(message, { cause });
    this.retryable = retryable;
  }
}

type GivenToken = { readonly text: string; readonly lifetimeMs: number };

async function requestedToken(
  name: string,
  token: Token,
  { baseUrl, signal, ...io }: TokenOptions & { readonly signal: AbortSignal },
): Promise<GivenToken> {
  const { url, id, secret, in: place } = token;
  const address = new URL(url.startsWith('/') ? `${baseUrl.replace(/\/$/, '')}${url}` : url);
  const signer = place === 'basic' && id !== undefined ? apiKey(() => basicOf(id(), secret?.() ?? '')) : { sign: () => ({}) };
  await using source = defineSource<undefined, GivenToken>({
    service: address.host,
    limit: { requests: 100, windowMs: 1_000 },
    toRequest: () => ({ method: 'POST', url: address.href, ...contentOf(token) }),
    classify: (answer, { epochMs }) => tokenVerdict(token, answer, { name, epochMs, from: address.origin + address.pathname }),
    subject: () => name,
  })({ ...io, baseUrl: address.origin, credentials: [{ name, signer }], retryForMs: 0 });
  const { value } = await source.query(undefined, { credits: creditPool({ max: 1 }), signal });
  return value;
}

function contentOf({ grant, id, secret, in: place, refreshToken, form, json }: Token) {
  const kind = grant ?? (refreshToken !== undefined ? 'refresh_token' : id !== undefined ? 'client_credentials' : undefined);
  const fields: Record<string, string | number | boolean | null> = {
    ...(kind !== undefined && { grant_type: kind }),
    ...form,
    ...json,
    ...(refreshToken !== undefined && { refresh_token: refreshToken() }),
    ...(place === 'body' && id !== undefined && { client_id: id(), client_secret: secret?.() ?? '' }),
  };
  if (json !== undefined) return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(fields) };
  const pairs = Object.entries(fields).map(([field, value]): [string, string] => [field, String(value)]);
  return { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: new URLSearchParams(pairs).toString() };
}

interface TokenContext {
  readonly name: string;
  readonly epochMs: number;
  /** The address that was asked, without its query, which can contain a secret. */
  readonly from: string;
}

function tokenVerdict(
  { at, expires, refreshToken }: Token,
  answer: HttpResponse,
  { name, epochMs, from }: TokenContext,
): Verdict<GivenToken> {
  const { status } = answer;
  const body = jsonBody(answer, JSON.parse);
  if (status >= 500 || status === 408 || status === 429) return { kind: 'transient', reason: `${from} answered ${status}` };
  const fatal = (message: string): Verdict<GivenToken> => {
    const code = 'HEADGATE_TOKEN_UNAVAILABLE';
    return { kind: 'fatal', error: new SourceError({ code, message, retryable: false, service: name, status }) };
  };
  const cure =
    refreshToken === undefined ? '' : ' A refresh token that changes at each use is valid once: Headgate keeps none that a response gives.';
  if (status < 200 || status >= 300) return fatal(`${from} answered ${status}. Check url, id, secret and the fields of token.${cure}`);
  if (body.kind === 'broken') return { kind: 'transient', reason: `${from}: ${body.reason}` };
  const text = at.first(body.value);
  if (typeof text !== 'string' || text === '') return fatal(`the response of ${from} has ${kindOf(text)} at ${at.text}. Write token.at.`);
  const lifetime = expires.first(body.value);
  const lifetimeMs = lifetimeOf(lifetime, answer, epochMs);
  if (lifetimeMs !== undefined) return { kind: 'ok', value: { text, lifetimeMs } };
  return fatal(
    `the response of ${from} has ${kindOf(lifetime)} at ${expires.text}, and needs seconds or a date there. Correct token.expires.`,
  );
}

/**
 * A lifetime in ms, from seconds or from the time at which it ends. Infinity without one, or if it has already ended: the token is then used
 * until it is refused. Undefined for any other value.
 */
function lifetimeOf(given: unknown, answer: HttpResponse, epochMs: number): number | undefined {
  if (given === undefined || given === null || (numberOf(given) ?? 1) <= 0) return Infinity;
  const lifetimeMs = waitAt(given, answer, epochMs);
  return lifetimeMs === 0 ? Infinity : lifetimeMs;
}
