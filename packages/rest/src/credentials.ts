import { type Signer, apiKey, bearer, oauth1 } from '@headgate/auth';
import { secret } from '@headgate/pipeline';
import type { CredentialIdentity } from '@headgate/pipeline/internal';
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
import * as z from 'zod';
import { exactNumber, kindOf, numberOf, scalar } from './json-value.ts';
import { waitAt } from './limits.ts';
import { path } from './path.ts';
import { headerName, isHttp } from './places.ts';

// The first alternative that fits reads a value of a file, so a form has text exactly as written, where `scalar` has unquoted numbers.
const formField = z.union([z.string(), exactNumber(), z.boolean(), z.null()]);

const token = z
  .strictObject({
    url: z
      .string()
      .refine(
        (text) => text.startsWith('/') || isHttp(text),
        'is neither a path nor an address. Write /oauth/token, or for example https://login.example.com/token.',
      )
      .describe('Address that gives the token: a path after `baseUrl`, or a whole address.'),
    grant: z
      .string()
      .min(1)
      .exactOptional()
      .describe('`grant_type` of the request. Default with `id`: client_credentials, or refresh_token if there is one.'),
    id: secret({ encoded: true }).exactOptional().describe('`client_id` of the application.'),
    secret: secret({ encoded: true }).exactOptional().describe('`client_secret` of the application.'),
    in: z.enum(['basic', 'body']).default('basic').describe('Part of the request that carries `id` and `secret`.'),
    refreshToken: secret({ encoded: true })
      .exactOptional()
      .describe('Refresh token, for `grant: refresh_token`. One that changes at each use is not supported.'),
    form: z.record(z.string(), formField).exactOptional().describe('Other fields of the request, such as `scope`.'),
    json: z.record(z.string(), scalar).exactOptional().describe('The same, and the request is sent as JSON.'),
    at: path({ singular: true }).prefault('$.access_token').describe('Path of the token in the response.'),
    expires: path({ singular: true })
      .prefault('$.expires_in')
      .describe('Path of the lifetime of the token in seconds, or of the date at which it expires.'),
    header: headerName.exactOptional().describe('Header that carries the bare token. Default: `Authorization: Bearer`.'),
  })
  .superRefine((given, context) => {
    const refuse = (key: string, message: string): void => context.addIssue({ code: 'custom', path: [key], message });
    if (given.form !== undefined && given.json !== undefined) refuse('json', "can't be combined with form. Keep one of them.");
    if ((given.id === undefined) !== (given.secret === undefined))
      refuse(given.id === undefined ? 'secret' : 'id', `needs ${given.id === undefined ? 'id' : 'secret'} as well.`);
  });

export const credential = z
  .strictObject({
    name: z.string().min(1).describe('Name in messages and metrics. Budgets are kept under this name across restarts.'),
    bearer: secret().exactOptional().describe('Token, sent as `Authorization: Bearer`.'),
    basic: z
      .strictObject({
        user: z.string().min(1).describe('User name.'),
        password: secret().exactOptional().describe('Password. Default: empty.'),
      })
      .exactOptional()
      .describe('User name and password for HTTP basic authentication.'),
    key: secret().exactOptional().describe('Key, sent as `Authorization`, or where `header` or `query` says.'),
    header: headerName.exactOptional().describe('Header that carries the key.'),
    query: z.string().min(1).exactOptional().describe('Query parameter that carries the key.'),
    body: z.string().min(1).exactOptional().describe('Member of the JSON body, or field of the form, that carries the key.'),
    oauth1: z
      .strictObject({
        consumerKey: secret({ encoded: true }).describe('Consumer key of the application.'),
        consumerSecret: secret({ encoded: true }).describe('Its secret.'),
        token: secret({ encoded: true }).exactOptional().describe('Access token of the user.'),
        tokenSecret: secret({ encoded: true }).exactOptional().describe('Its secret.'),
      })
      .exactOptional()
      .describe('OAuth 1.0a, signed with HMAC-SHA1.'),
    token: token
      .exactOptional()
      .describe('A token that is requested: OAuth 2, or a login. It is requested again when it is refused or expires.'),
  })
  .superRefine((given, context) => {
    keepOne(['bearer', 'basic', 'key', 'oauth1', 'token'], given, context);
    const places = keepOne(['header', 'query', 'body'], given, context);
    if (places.length > 0 && given.key === undefined)
      context.addIssue({ code: 'custom', path: [places[0] ?? ''], message: 'needs a key. Add key: "${KEY}".' });
  });

export type RestCredential = z.output<typeof credential>;

/** Returns the keys that are set, and reports an issue if more than one is. */
function keepOne<Key extends string>(
  keys: readonly Key[],
  given: Readonly<Partial<Record<Key, unknown>>>,
  context: z.RefinementCtx,
): readonly Key[] {
  const found = keys.filter((key) => given[key] !== undefined);
  if (found.length > 1) context.addIssue({ code: 'custom', message: `has ${found.join(' and ')}. Keep one of them.` });
  return found;
}

/** The same key is the same secret, wherever the request carries it. A client that requests tokens is told from others by its whole request. */
export function identityOf({ bearer, basic, key, oauth1, token }: RestCredential): CredentialIdentity {
  if (bearer !== undefined) return { setting: 'bearer', values: [bearer] };
  if (basic !== undefined) return { setting: 'basic', values: [() => basic.user, basic.password] };
  if (key !== undefined) return { setting: 'key', values: [key] };
  if (oauth1 !== undefined) return { setting: 'oauth1', values: [oauth1.consumerKey, oauth1.token] };
  if (token === undefined) return { values: [] };
  const { url, id, refreshToken, form, json } = token;
  return { setting: 'token', values: [id, refreshToken, () => JSON.stringify([url, form, json])] };
}

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
    classify: (answer, { epochMs }) => tokenVerdict(token, answer, name, epochMs, address.origin + address.pathname),
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

/** `from`: the address that was asked, without its query, which can contain a secret. */
function tokenVerdict(
  { at, expires, refreshToken }: Token,
  answer: HttpResponse,
  name: string,
  epochMs: number,
  from: string,
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
