import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { bearer } from './bearer.ts';
import type { SecretContext } from './signer.ts';

const request = { method: 'GET', url: 'https://example.com/' };

function tokens() {
  const asked: { readonly context: SecretContext; readonly give: (token: string) => void; readonly fail: () => void }[] = [];
  const signer = bearer(
    (context) => new Promise<string>((give, reject) => asked.push({ context, give, fail: () => reject(new Error('hunter2')) })),
  );
  return { asked, signer };
}

test('requests that are signed together ask once, and later ones again', async () => {
  const { asked, signer } = tokens();
  const together = [signer.sign(request), signer.sign(request)].map(async (signed) => await signed);
  asked[0]?.give('first');
  expect(await Promise.all(together)).toEqual([{ authorization: 'Bearer first' }, { authorization: 'Bearer first' }]);
  const later = signer.sign(request);
  asked[1]?.give('second');
  expect(await later).toEqual({ authorization: 'Bearer second' });
  expect(asked).toHaveLength(2);
});

test("learns once that the service has refused its secret, and again if it couldn't provide one", async () => {
  const { asked, signer } = tokens();
  const sign = async (settle: 'give' | 'fail'): Promise<void> => {
    const signed = Promise.resolve(signer.sign(request)).catch(() => undefined);
    const last = asked.at(-1);
    if (settle === 'give') last?.give('token');
    else last?.fail();
    await signed;
  };
  await sign('give');
  signer.refused?.();
  await sign('fail');
  await sign('give');
  await sign('give');
  expect(asked.map(({ context }) => context.refused)).toEqual([false, true, true, false]);
  expect(bearer('token')).not.toHaveProperty('refused');
});

test('a request that gives up leaves the others waiting; the last one lets the function know', async () => {
  const { asked, signer } = tokens();
  const [first, second] = [new AbortController(), new AbortController()];
  const signed = [first, second].map(({ signal }) => Promise.resolve(signer.sign(request, { signal })));
  first.abort(new Error('enough'));
  await expect(signed[0]).rejects.toThrow('enough');
  expect(asked[0]?.context.signal.aborted).toBe(false);
  const reason = new Error('enough of this, too');
  second.abort(reason);
  await expect(signed[1]).rejects.toBe(reason);
  expect(asked[0]?.context.signal.reason).toBe(reason);
  // The first token comes too late: the next request calls the function again.
  asked[0]?.give('late');
  const next = signer.sign(request);
  asked[1]?.give('token');
  expect(await next).toEqual({ authorization: 'Bearer token' });
  await expect(signer.sign(request, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});

test('what it rejects with shows nowhere, nor does a token that no header can carry', async () => {
  const { asked, signer } = tokens();
  for (const settle of [() => asked.at(-1)?.fail(), () => asked.at(-1)?.give('hunter2\n')]) {
    const signed = Promise.resolve(signer.sign(request));
    settle();
    const error: unknown = await signed.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: expect.stringMatching(/^HEADGATE_(?:SECRET_UNAVAILABLE|INVALID_SECRET)$/) });
    expect(inspect(error, { depth: 20, showHidden: true })).not.toContain('hunter2');
  }
});

test.each([
  () => {
    throw awaited();
  },
  () => Promise.reject(awaited()),
])('names the credential that needs a new secret, in the reader’s words', async (secret) => {
  const signed = async (): Promise<unknown> => await bearer(secret).sign(request);
  await expect(signed()).rejects.toThrow('Write the token into ./token.');
});

function awaited(): Error {
  return Object.assign(new Error('Write the token into ./token.'), { code: 'HEADGATE_SECRET_AWAITED' });
}

test('a secret that comes after its requests have given up is not taken for a newer one', async () => {
  const { asked, signer } = tokens();
  const abort = new AbortController();
  const first = Promise.resolve(signer.sign(request, { signal: abort.signal })).catch(() => undefined);
  abort.abort(new Error('enough'));
  await first;
  const second = signer.sign(request);
  asked[0]?.give('late');
  await new Promise((resolve) => setImmediate(resolve));
  const third = signer.sign(request);
  asked[1]?.give('new');
  expect(await Promise.all([second, third])).toEqual([{ authorization: 'Bearer new' }, { authorization: 'Bearer new' }]);
  expect(asked).toHaveLength(2);
});
