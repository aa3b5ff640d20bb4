import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '@headgate/throttle';
import { expect, it } from 'vitest';
import { type ApiAnswer, startApi } from './api.fixture.ts';
import { credentialOf } from './credentials.ts';
import { restOptions } from './language.ts';
import { temporaryFolder } from './shared-log.fixture.ts';

const page = { method: 'GET', url: 'http://127.0.0.1/items' };

it('OAuth 1.0a waits for a missing file, and signs with a new secret at once', async () => {
  await using folder = await temporaryFolder();
  const names = ['consumerKey', 'consumerSecret', 'token', 'tokenSecret'] as const;
  const write = (value: string) => Promise.all(names.map((name) => writeFile(join(folder.path, name), `${value}-${name}`)));
  const { credentials } = restOptions.parse({
    baseUrl: 'http://127.0.0.1',
    credentials: [{ name: 'app', oauth1: Object.fromEntries(names.map((name) => [name, { file: join(folder.path, name) }])) }],
    limit: { requests: 500, window: '100ms' },
    streams: { items: { get: '/items' } },
  });
  const { signer } = credentialOf(first(credentials), { baseUrl: 'http://127.0.0.1', clock: systemClock() });
  expect(() => signer.sign(page)).toThrow(expect.objectContaining({ code: 'HEADGATE_SECRET_AWAITED' }));
  for (const value of ['old', 'newer']) {
    await write(value);
    expect(await signer.sign(page)).toEqual({
      authorization: expect.stringMatching(new RegExp(`oauth_consumer_key="${value}-consumerKey".*oauth_token="${value}-token"`)),
    });
  }
});

function first<Entry>([entry]: readonly Entry[]): Entry {
  if (entry === undefined) throw new Error('an empty list');
  return entry;
}

/** The signer of a credential with a token from `answer`, and the number of tokens that it has requested. */
async function tokenSigner(answer: () => ApiAnswer) {
  const api = await startApi({ routes: { 'POST /token': answer } });
  const { credentials } = restOptions.parse({
    baseUrl: api.url,
    credentials: [{ name: 'app', token: { url: '/token', id: 'me', secret: 'shh' } }],
    limit: { requests: 500, window: '100ms' },
    streams: { items: { get: '/items' } },
  });
  const { signer } = credentialOf(first(credentials), { baseUrl: api.url, clock: systemClock() });
  return { signer, requested: api.requests, [Symbol.asyncDispose]: () => api[Symbol.asyncDispose]() };
}

it('all requests that wait for a token get the reason of its failure', async () => {
  await using token = await tokenSigner(() => ({ status: 400, body: { error: 'invalid_client' } }));
  const settled = await Promise.allSettled([1, 2, 3].map(async () => await token.signer.sign(page)));
  expect(token.requested()).toBe(1);
  for (const one of settled)
    expect(one).toMatchObject({
      reason: { code: 'HEADGATE_TOKEN_UNAVAILABLE', retryable: false, message: expect.stringContaining('400') },
    });
});

it.each([
  [undefined],
  [null],
  [3_600],
  ['3600'],
  ['3600.5'],
  ['2999-01-01T00:00:00Z'],
  ['Tue, 01 Jan 2999 00:00:00 GMT'],
  [32_472_144_000],
])('a token with the expiry %j is kept', async (expires) => {
  await using token = await tokenSigner(() => ({ body: { access_token: 'given', expires_in: expires } }));
  for (let i = 0; i < 2; i += 1) expect(await token.signer.sign(page)).toEqual({ authorization: 'Bearer given' });
  expect(token.requested()).toBe(1);
});

it.each([[0], ['0'], [-1], ['2020-01-01T00:00:00Z'], [1_577_836_800]])(
  'a token with the expiry %j is used until it is refused',
  async (expires) => {
    await using token = await tokenSigner(() => ({ body: { access_token: 'given', expires_in: expires } }));
    for (let i = 0; i < 2; i += 1) await token.signer.sign(page);
    expect(token.requested()).toBe(1);
  },
);

it.each([['soon'], [''], [true], [{}], [[]]])('an expiry of %j is refused, with the place to correct', async (expires) => {
  await using token = await tokenSigner(() => ({ body: { access_token: 'given', expires_in: expires } }));
  await expect(async () => await token.signer.sign(page)).rejects.toMatchObject({
    code: 'HEADGATE_TOKEN_UNAVAILABLE',
    retryable: false,
    message: expect.stringMatching(/at \$\.expires_in, .* Correct token\.expires\./),
  });
});
