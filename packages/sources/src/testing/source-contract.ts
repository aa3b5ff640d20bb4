import { bearer } from '@headgate/auth';
import { creditPool, type CreditPool, type Delivery } from '@headgate/throttle';
import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { gzipSync } from 'node:zlib';
import { SourceError } from '../source-error.ts';
import type { SourceOptions } from '../source-options.ts';
import { bomb, busy, compressed, cut, echo, encoded, endless, hang, hinted, html, redirect, reset, whole } from './responses.ts';
import { type Respond, scriptedServer, type ScriptedServer } from './scripted-server.ts';

/** Options of {@link sourceContract}. */
export interface SourceContractOptions<Api extends AsyncDisposable, Value> {
  /** Opens the source under test with exactly these options. */
  open(options: SourceOptions): Api;
  /** Makes the request to which the server sends `body`. */
  query(api: Api, options: ContractQueryOptions): Promise<Delivery<Value> | undefined>;
  /** The JSON text of a valid response, in ASCII. */
  readonly body: string;
  /** The value of a valid response. The credential is named `contract`. */
  readonly expected: Value;
  /** Valid JSON that isn't a valid response, sent with status 200. Default: none, for a service that can return any JSON. */
  readonly mismatches?: readonly MismatchingResponse[];
  /** A walk whose pages never end. Default: none, for a source without walks. */
  readonly endlessWalk?: EndlessWalk<Api>;
}

/** A walk that only a limit of the source ends, and the pages that the service returns. */
export interface EndlessWalk<Api> {
  /** Begins a walk that the limit `option` ends after five pages. */
  walk(api: Api): AsyncIterable<unknown>;
  /** Returns the JSON text of the nth page, from 1: always valid, and never the last. */
  page(n: number): string;
  /** Name of the option with that limit. The error's message must contain this name. */
  readonly option: string;
}

/** Valid JSON that isn't a valid response. */
export interface MismatchingResponse {
  /** The JSON text, sent with status 200. */
  readonly body: string;
  /** Words that the error must contain: the field that is wrong, and the value expected there. */
  readonly where: string;
}

/** Options of `SourceContractOptions.query`. */
export interface ContractQueryOptions {
  /** Pool to reserve the response's items from. The contract checks that all credit comes back. */
  readonly credits: CreditPool;
  /** An abort ends the query. The contract checks that it does. */
  readonly signal: AbortSignal;
}

/** A check of one promise of the contract. */
export interface ContractCheck {
  /** A sentence about every source or pipeline, for the test's title. */
  readonly name: string;
  /** Rejects with an `AssertionError` if the promise isn't kept. Takes real time, up to several seconds. */
  readonly run: () => Promise<void>;
}

/**
 * Returns checks of the promises of every source against a misbehaving service, for a test runner of your choice.
 *
 * Each check starts its own server on 127.0.0.1, and needs no network.
 */
export function sourceContract<Api extends AsyncDisposable, Value>(contract: SourceContractOptions<Api, Value>): readonly ContractCheck[] {
  const { body, expected, mismatches = [], endlessWalk } = contract;

  const play = async (
    script: readonly Respond[],
    act: (scene: Scene<Api, Value>) => Promise<void>,
    options: Partial<SourceOptions> = {},
  ) => {
    await using server = await scriptedServer({ script, otherwise: whole(body) });
    await using api = contract.open({
      baseUrl: server.url,
      credentials: [{ name: 'contract', signer: bearer(SECRET) }],
      limit: { requests: 100, windowMs: 60_000 },
      timeoutMs: 5_000,
      maxBodyBytes: Math.max(MOST_BYTES, body.length),
      random: () => 0,
      env: {},
      ...options,
    });
    const credits = creditPool({ max: 1_000_000 });
    const query = (signal: AbortSignal = new AbortController().signal): Promise<Delivery<Value> | undefined> =>
      contract.query(api, { credits, signal });
    await act({ server, api, credits, query });
  };
  /** Checks that the source recovers: the server sends the errors, one per request, and then a valid response. */
  const recovers = (name: string, faults: readonly Respond[], options: Partial<SourceOptions> = {}): ContractCheck => ({
    name,
    run: () =>
      play(
        faults,
        async ({ server, credits, query }) => {
          const delivery = await query();
          assert.deepEqual(delivery?.value, expected);
          assert.equal(server.requests.length, faults.length + 1);
          delivery?.credit.release();
          assert.equal(credits.outstanding, 0, 'credit is still held');
        },
        options,
      ),
  });
  const fails = (
    name: string,
    respond: Respond,
    check: (error: SourceError, server: ScriptedServer) => void,
    options: Partial<SourceOptions> = {},
  ): ContractCheck => ({
    name,
    run: () =>
      play(
        Array.from({ length: 50 }, () => respond),
        async ({ server, credits, query }) => {
          const error: unknown = await query().then(
            () => assert.fail('it should have failed'),
            (reason: unknown) => reason,
          );
          assert.ok(error instanceof SourceError, `expected a SourceError, got ${inspect(error)}`);
          assert.equal(credits.outstanding, 0, 'credit is still held');
          assert.ok(!revealing(error).includes(SECRET), 'the secret shows in the error');
          check(error, server);
        },
        options,
      ),
  });

  const endsByLimit = (walked: EndlessWalk<Api>): ContractCheck => ({
    name: 'a walk without an end stops at its limit, and its error says how to continue',
    run: () =>
      play(
        Array.from({ length: 50 }, (_, i) => whole(walked.page(i + 1))),
        async ({ server, api }) => {
          let pages = 0;
          const read = async (): Promise<void> => {
            for await (const _ of walked.walk(api)) pages += 1;
          };
          const error: unknown = await read().then(
            () => undefined,
            (reason: unknown) => reason,
          );
          assert.ok(error instanceof SourceError, `expected a SourceError, got ${inspect(error)}`);
          assert.deepEqual([pages, server.requests.length], [5, 5]);
          assert.equal(error.retryable, true);
          assert.equal(error.endsSource, false);
          assert.ok(error.message.includes(`(${walked.option})`), error.message);
        },
      ),
  });

  return [
    recovers('a good response: its exact value, for one request', []),
    recovers('an observer that throws costs no request', [whole('{}', 503)], {
      onAttempt: () => {
        throw new Error('the observer of the contract throws');
      },
    }),
    recovers('503, then a good response', [whole('{}', 503)]),
    recovers('HTML with 503, then a good response', [html(503)]),
    recovers('HTML with 200, then a good response', [html(200)]),
    recovers('a reset, then a good response', [reset]),
    recovers('a timeout, then a good response', [hang], { timeoutMs: 500 }),
    recovers('an incomplete response, then a good one', [cut(body)]),
    recovers('truncated JSON, then a good response', [whole(body.slice(0, body.length >> 1))]),
    recovers('an empty body, then a good response', [whole('')]),
    recovers('an endless body, then a good response', [endless]),
    recovers('a compression bomb, then a good response', [bomb(body, 20 * (MOST_BYTES + body.length))]),
    recovers('an unknown encoding, then a good response', [
      (_, response) => response.writeHead(200, { 'content-encoding': 'x-own', 'content-type': 'application/json' }).end(gzipSync(body)),
    ]),
    ...mismatches.slice(0, 1).map((one) => recovers('JSON of another form, then a good response', [whole(one.body)])),
    ...mismatches.map((one) =>
      fails(`JSON of another form is requested twice, and the error names the place: ${one.where}`, whole(one.body), (error, server) => {
        assert.equal(error.code, 'HEADGATE_UNFIT_ANSWER');
        assert.equal(error.endsSource, false);
        assert.equal(server.requests.length, 2);
        assert.ok(error.message.includes(one.where), error.message);
        for (const text of textsIn(JSON.parse(one.body)))
          assert.ok(!error.message.includes(text), `the error quotes the response: ${error.message}`);
      }),
    ),
    ...(endlessWalk === undefined ? [] : [endsByLimit(endlessWalk)]),
    {
      name: 'gzip and br are understood',
      run: () =>
        play([compressed(body, 'gzip'), compressed(body, 'br')], async ({ server, query }) => {
          for (const encoding of ['gzip', 'br']) {
            const delivery = await query();
            assert.deepEqual(delivery?.value, expected, encoding);
            assert.match(server.requests.at(-1)?.headers['accept-encoding'] ?? '', new RegExp(encoding));
            delivery?.credit.release();
          }
        }),
    },
    fails(
      'a request that keeps failing is given up after its time, and the error is retryable',
      whole('{}', 500),
      (error, server) => {
        assert.equal(error.code, 'HEADGATE_GAVE_UP');
        assert.equal(error.retryable, true);
        assert.equal(server.requests.length, 1);
      },
      { retryForMs: 0 },
    ),
    fails(
      'if a service requests a longer wait than is left, the query is given up without an early retry',
      busy(3_600),
      (error, server) => {
        assert.equal(error.code, 'HEADGATE_GAVE_UP');
        assert.equal(error.retryable, true);
        assert.equal(server.requests.length, 1);
        assert.match(error.message, /\b3,600 s\b/);
      },
      { retryForMs: 500 },
    ),
    fails('a redirect is not followed', redirect('https://example.com/?token=elsewhere'), (error, server) => {
      assert.equal(error.code, 'HEADGATE_REDIRECTED');
      assert.equal(server.requests.length, 1);
      assert.match(error.message, /https:\/\/example\.com/);
      assert.ok(!error.message.includes('elsewhere'), "the Location's query shows in the error");
    }),
    fails("a redirect to a host named like the secret doesn't reveal it", redirect(`https://${HOST}.example.com/`), (error) => {
      assert.equal(error.code, 'HEADGATE_REDIRECTED');
      assert.ok(!error.message.toLowerCase().includes(HOST.slice(0, 8)), 'a piece of the secret shows in the error');
    }),
    ...SPELLINGS.map(([spelling, spell]) =>
      fails(`a refusal that repeats the secret ${spelling} doesn't put it into an error`, echo(spell), (error) => {
        assert.equal(error.retryable, false);
        const shown = `${error.message} ${revealing(error)}`;
        assert.ok(!shown.includes(spell(SECRET)), 'the secret shows in the error, spelled');
        assert.ok(!shown.replace(/[\s\p{C}]+/gu, '').includes(SECRET.slice(0, 8)), 'a piece of the secret shows in the error');
      }),
    ),
    ...SPELLINGS.map(([spelling, spell]) => ({
      name: `an encoding that repeats the secret ${spelling} isn't shown`,
      run: async () => {
        const told: string[] = [];
        await play([encoded(spell)], async ({ query }) => (await query())?.credit.release(), {
          onAttempt: ({ reason = '' }) => void told.push(reason),
        });
        const shown = told.join(' ').toLowerCase();
        assert.match(shown, /encoding/);
        // A header can't contain control characters.
        assert.ok(!shown.includes(spell(SECRET).replaceAll('\u0007', '').slice(0, SHOWN_LENGTH).toLowerCase()), shown);
      },
    })),
    {
      name: "an interim response (103) isn't the response: its request counts until a window after the real one",
      run: async () => {
        const at: number[] = [];
        const timed =
          (respond: Respond): Respond =>
          (...exchange) => {
            at.push(performance.now());
            respond(...exchange);
          };
        const answer = timed(whole(body));
        await play(
          [hinted(answer, HINTED_MS), answer],
          async ({ query }) => {
            for (const delivery of [await query(), await query()]) {
              assert.deepEqual(delivery?.value, expected);
              delivery?.credit.release();
            }
          },
          { limit: { requests: 1, windowMs: WINDOW_MS } },
        );
        const [answeredAt = NaN, nextAt = NaN] = at;
        assert.ok(
          nextAt - answeredAt >= WINDOW_MS,
          `${Math.round(nextAt - answeredAt)} ms after the response, in a window of ${WINDOW_MS} ms`,
        );
      },
    },
    {
      name: "two credentials with one secret have one budget: the second isn't used, and the source says so",
      run: async () => {
        const told: string[] = [];
        await play(
          [],
          async ({ server, query }) => {
            (await query())?.credit.release();
            const abort = new AbortController();
            const requested = query(abort.signal);
            requested.catch(() => undefined);
            await until(() => told.length > 0);
            // Time in which a second request would arrive.
            await new Promise((resolve) => setTimeout(resolve, 50));
            assert.equal(server.requests.length, 1);
            assert.match(told.join(' '), /(contract|twin): it has the same secret as (contract|twin), so/);
            abort.abort(new Error('enough'));
            await assert.rejects(requested, /enough/);
          },
          {
            limit: { requests: 1, windowMs: 3_600_000 },
            credentials: ['contract', 'twin'].map((name) => ({ name, signer: bearer(() => SECRET) })),
            onAttempt: ({ outcome, reason }) => {
              if (outcome === 'unauthorized') told.push(String(reason));
            },
          },
        );
      },
    },
    {
      name: 'every attempt takes its own permit',
      run: () =>
        play(
          Array.from({ length: 50 }, () => whole('{}', 503)),
          async ({ server, credits, query }) => {
            const abort = new AbortController();
            const requested = query(abort.signal);
            requested.catch(() => undefined);
            await until(() => server.requests.length === 2);
            // Time in which a third request would arrive.
            await new Promise((resolve) => setTimeout(resolve, 100));
            assert.equal(server.requests.length, 2);
            abort.abort(new Error('enough'));
            await assert.rejects(requested, /enough/);
            assert.equal(credits.outstanding, 0, 'credit is still held');
          },
          { limit: { requests: 2, windowMs: 3_600_000 } },
        ),
    },
    {
      name: 'a query aborted during its request ends the request and holds nothing',
      run: () =>
        play(
          [hang],
          async ({ server, credits, query }) => {
            const abort = new AbortController();
            const requested = query(abort.signal);
            requested.catch(() => undefined);
            await until(() => server.requests.length === 1);
            abort.abort(new Error('enough'));
            await assert.rejects(requested, /enough/);
            assert.equal(credits.outstanding, 0, 'credit is still held');
            await until(() => server.requests[0]?.socket.destroyed === true);
          },
          { timeoutMs: 30_000 },
        ),
    },
  ];
}

interface Scene<Api, Value> {
  readonly server: ScriptedServer;
  readonly api: Api;
  readonly credits: CreditPool;
  readonly query: (signal?: AbortSignal) => Promise<Delivery<Value> | undefined>;
}

const SECRET = 'sEcr3t/0f-th3-c0ntr4ct+9876543210==';
const HOST = SECRET.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
const SPELLINGS: readonly (readonly [spelling: string, spell: (secret: string) => string])[] = [
  ['unchanged', (secret) => secret],
  ['cut in half', (secret) => secret.slice(0, secret.length >> 1)],
  ['split by a control character', (secret) => `${secret.slice(0, 7)}\u0007${secret.slice(7)}`],
  ['percent-encoded throughout', (secret) => Buffer.from(secret).toString('hex').replace(/../g, '%$&')],
  ['in base64, after another word', (secret) => Buffer.from(`token ${secret}`).toString('base64')],
];
/** Length of a part of a spelled secret that contains at least eight of its characters, in the longest spelling. */
const SHOWN_LENGTH = 24;
const MOST_BYTES = 64 * 1024;
const WINDOW_MS = 200;
/** Time from the interim response to the final one, in ms. */
const HINTED_MS = 150;

function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return value.length > 8 ? [value] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** Returns everything that an error shows when it is printed, serialized or inspected. */
function revealing(error: Error): string {
  return `${inspect(error, { depth: Infinity, showHidden: true })} ${JSON.stringify(error)} ${error.message} ${error.stack ?? ''}`;
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 5_000;
  while (!condition()) {
    assert.ok(performance.now() < deadline, "it didn't happen within 5 s");
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
