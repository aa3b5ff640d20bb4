import { bearer } from '@headgate/auth';
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { defineSource } from '../define-source.ts';
import { toy } from '../scene.fixture.ts';
import type { Source } from '../source.ts';
import { bomb, compressed, cut, encoded, endless, hinted, redirect, reset } from './hostile-responses.fixture.ts';
import { hang, whole } from './responses.ts';
import type { Respond } from './scripted-server.ts';
import { Contract, type ContractCheck, MOST_BYTES, SECRET, SPELLINGS, until } from './source-contract.ts';

const BODY = '"good, and long enough to be cut"';
const HOST = SECRET.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
/** Length of a part of a spelled secret that contains at least eight of its characters, in the longest spelling. */
const SHOWN_LENGTH = 24;
const WINDOW_MS = 200;
/** Time from the interim response to the final one, in ms. */
const HINTED_MS = 150;

const contract = new Contract<Source<string, string>, string>({
  open: defineSource(toy([])),
  query: (api, options) => api.query('/x', options),
  body: BODY,
  expected: JSON.parse(BODY) as string,
});

describe('what no definition can break', () => {
  const checks: readonly ContractCheck[] = [
    contract.recovers('a reset, then a good response', [reset]),
    contract.recovers('a timeout, then a good response', [hang]),
    contract.recovers('an incomplete response, then a good one', [cut(BODY)]),
    contract.recovers('an endless body, then a good response', [endless]),
    contract.recovers('a compression bomb, then a good response', [bomb(BODY, 20 * (MOST_BYTES + BODY.length))]),
    contract.recovers('an unknown encoding, then a good response', [
      (_, response) => response.writeHead(200, { 'content-encoding': 'x-own', 'content-type': 'application/json' }).end(gzipSync(BODY)),
    ]),
    contract.check('gzip and br are understood', [compressed(BODY, 'gzip'), compressed(BODY, 'br')], {}, async ({ server, query }) => {
      for (const encoding of ['gzip', 'br']) {
        const delivery = await query();
        assert.deepEqual(delivery?.value, JSON.parse(BODY), encoding);
        assert.match(server.requests.at(-1)?.headers['accept-encoding'] ?? '', new RegExp(encoding));
        delivery?.credit.release();
      }
    }),
    contract.fails('a redirect is not followed', redirect('https://example.com/?token=elsewhere'), {}, (error, server) => {
      assert.equal(error.code, 'HEADGATE_REDIRECTED');
      assert.equal(server.requests.length, 1);
      assert.match(error.message, /https:\/\/example\.com/);
      assert.ok(!error.message.includes('elsewhere'), "the Location's query shows in the error");
    }),
    contract.fails(
      "a redirect to a host named like the secret doesn't reveal it",
      redirect(`https://${HOST}.example.com/`),
      {},
      (error) => {
        assert.equal(error.code, 'HEADGATE_REDIRECTED');
        assert.ok(!error.message.toLowerCase().includes(HOST.slice(0, 8)), 'a piece of the secret shows in the error');
      },
    ),
    ...SPELLINGS.map(([spelling, spell]) => hidesEncoding(spelling, spell)),
    interim(),
    sharedSecret(),
    ownPermits(),
  ];

  test.each(checks)('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});

function hidesEncoding(spelling: string, spell: (secret: string) => string): ContractCheck {
  const told: string[] = [];
  const onAttempt = ({ reason = '' }: { readonly reason?: string }): void => void told.push(reason);
  return contract.check(
    `an encoding that repeats the secret ${spelling} isn't shown`,
    [encoded(spell)],
    { onAttempt },
    async ({ query }) => {
      (await query())?.credit.release();
      const shown = told.join(' ').toLowerCase();
      assert.match(shown, /encoding/);
      // A header can't contain control characters.
      assert.ok(!shown.includes(spell(SECRET).replaceAll('\u0007', '').slice(0, SHOWN_LENGTH).toLowerCase()), shown);
    },
  );
}

function interim(): ContractCheck {
  const at: number[] = [];
  const timed =
    (respond: Respond): Respond =>
    (...exchange) => {
      at.push(performance.now());
      respond(...exchange);
    };
  const answer = timed(whole(BODY));
  const name = "an interim response (103) isn't the response: its request counts until a window after the real one";
  const limit = { requests: 1, windowMs: WINDOW_MS };
  return contract.check(name, [hinted(answer, HINTED_MS), answer], { limit }, async ({ query }) => {
    for (const delivery of [await query(), await query()]) {
      assert.deepEqual(delivery?.value, JSON.parse(BODY));
      delivery?.credit.release();
    }
    const [answeredAt = NaN, nextAt = NaN] = at;
    const ms = Math.round(nextAt - answeredAt);
    assert.ok(nextAt - answeredAt >= WINDOW_MS, `${ms} ms after the response, in a window of ${WINDOW_MS} ms`);
  });
}

function sharedSecret(): ContractCheck {
  const told: string[] = [];
  const name = "two credentials with one secret have one budget: the second isn't used, and the source says so";
  const options = {
    limit: { requests: 1, windowMs: 3_600_000 },
    credentials: ['contract', 'twin'].map((one) => ({ name: one, signer: bearer(() => SECRET) })),
    onAttempt: ({ outcome, reason }: { readonly outcome: string; readonly reason?: string }) => {
      if (outcome === 'unauthorized') told.push(String(reason));
    },
  };
  return contract.check(name, [], options, async ({ server, api, query }) => {
    (await query())?.credit.release();
    const abort = new AbortController();
    const requested = query(abort.signal);
    requested.catch(() => undefined);
    await until(() => told.length > 0);
    await until(() => isQueued(api));
    assert.equal(server.requests.length, 1);
    assert.match(told.join(' '), /(contract|twin): it has the same secret as (contract|twin), so/);
    abort.abort(new Error('enough'));
    await assert.rejects(requested, /enough/);
  });
}

function ownPermits(): ContractCheck {
  const faults = Array<Respond>(50).fill(whole(JSON.stringify({ kind: 'transient' }), 503));
  const limit = { requests: 2, windowMs: 3_600_000 };
  return contract.check('every attempt takes its own permit', faults, { limit }, async ({ server, api, credits, query }) => {
    const abort = new AbortController();
    const requested = query(abort.signal);
    requested.catch(() => undefined);
    await until(() => server.requests.length === 2);
    await until(() => isQueued(api));
    assert.equal(server.requests.length, 2);
    abort.abort(new Error('enough'));
    await assert.rejects(requested, /enough/);
    assert.equal(credits.outstanding, 0, 'credit is still held');
  });
}

function isQueued(api: Source<string, string>): boolean {
  return api.gauges().queries.some(({ state }) => state === 'queued');
}
