import { type Signer, apiKey, bearer, oauth1 } from '@headgate/auth';
import type { Credential } from '@headgate/sources';
import type { Clock } from '@headgate/throttle';
import type { RestOptions } from './language.ts';
import { scalarOf } from './json-value.ts';

/** A credential of a section, read. */
export type RestCredential = RestOptions['credentials'][number];

/** A credential as a source takes it. */
export function credentialOf(given: RestCredential, baseUrl: string, clock: Clock): Credential {
  return { name: given.name, signer: signerOf(given, baseUrl, clock) };
}

function signerOf(
  { bearer: token, basic, key, header, query, oauth1: signed, token: requested }: RestCredential,
  baseUrl: string,
  clock: Clock,
): Signer {
  if (token !== undefined) return bearer(token);
  if (basic !== undefined) return apiKey(() => basicOf(basic.user, basic.password?.() ?? ''));
  if (key !== undefined) return header !== undefined ? apiKey(key, { header }) : query !== undefined ? apiKey(key, { query }) : apiKey(key);
  if (signed !== undefined) {
    const { consumerKey, consumerSecret, token: user, tokenSecret } = signed;
    return oauth1({
      consumerKey: consumerKey(),
      consumerSecret,
      now: () => clock.epochMs(),
      ...(user !== undefined && { token: user() }),
      ...(tokenSecret !== undefined && { tokenSecret }),
    });
  }
  if (requested !== undefined) return bearer(tokenProvider(requested, baseUrl, clock));
  return { sign: () => ({}) };
}

/** RFC 7617. */
function basicOf(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

/** A token is requested again this long before it expires. */
const EARLY_MS = 60_000;

/** Requests an OAuth 2 access token (RFC 6749, sections 4.4 and 6), and keeps it until it is refused or about to expire. */
function tokenProvider(options: NonNullable<RestCredential['token']>, baseUrl: string, clock: Clock) {
  const { url, grant, id, secret, in: place, refreshToken, form, at } = options;
  let kept: { readonly token: string; readonly until: number } | undefined;
  return async ({ refused, signal }: { readonly refused: boolean; readonly signal: AbortSignal }): Promise<string> => {
    if (kept !== undefined && !refused && clock.epochMs() < kept.until) return kept.token;
    const fields = new URLSearchParams({
      grant_type: grant,
      ...form,
      ...(refreshToken !== undefined && { refresh_token: refreshToken() }),
      ...(place === 'body' && { client_id: id(), client_secret: secret() }),
    });
    const answer = await fetch(new URL(url, baseUrl), {
      method: 'POST',
      headers: { accept: 'application/json', ...(place === 'basic' && { authorization: basicOf(id(), secret()) }) },
      body: fields,
      redirect: 'error',
      signal,
    });
    if (!answer.ok) throw new Error(`the token's address answered ${answer.status}`);
    const body: unknown = await answer.json();
    const token = at.first(body);
    if (typeof token !== 'string' || token === '') throw new Error(`the token's answer has no text at ${at.text}`);
    const seconds = Number(scalarOf(Object(body)['expires_in']) ?? Infinity);
    kept = { token, until: clock.epochMs() + seconds * 1_000 - EARLY_MS };
    return token;
  };
}
