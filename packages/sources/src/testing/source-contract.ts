import { bearer } from '@headgate/auth';
import { creditPool, type CreditPool, type Delivery } from '@headgate/throttle';
import assert from 'node:assert/strict';
import { inspect } from 'node:util';
import { SourceError } from '../source-error.ts';
import type { SourceOptions } from '../source-options.ts';
import { busy, echo, hang, html, whole } from './responses.ts';
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
 * Returns checks of the promises of every source against a misbehaving service, for a test runner of your choice. It leaves out what
 * no definition can break, such as how a response is decompressed.
 *
 * Each check starts its own server on 127.0.0.1, and needs no network.
 */
export function sourceContract<Api extends AsyncDisposable, Value>(given: SourceContractOptions<Api, Value>): readonly ContractCheck[] {
  const { body, mismatches = [], endlessWalk } = given;
  const contract = new Contract(given);
  const [firstMismatch] = mismatches;
  return [
    contract.recovers('a good response: its exact value, for one request', []),
    contract.recovers('an observer that throws costs no request', [whole('{}', 503)], {
      onAttempt: () => {
        throw new Error('the observer of the contract throws');
      },
    }),
    contract.recovers('503, then a good response', [whole('{}', 503)]),
    contract.recovers('HTML with 503, then a good response', [html(503)]),
    contract.recovers('HTML with 200, then a good response', [html(200)]),
    contract.recovers('truncated JSON, then a good response', [whole(body.slice(0, body.length >> 1))]),
    contract.recovers('an empty body, then a good response', [whole('')]),
    ...(firstMismatch === undefined ? [] : [contract.recovers('JSON of another form, then a good response', [whole(firstMismatch.body)])]),
    ...mismatches.map((one) => contract.mismatch(one)),
    ...(endlessWalk === undefined ? [] : [contract.endsByLimit(endlessWalk)]),
    contract.givesUp('a request that keeps failing is given up after its time, and the error is retryable', whole('{}', 500), 0, ''),
    contract.givesUp(
      'if a service requests a longer wait than is left, the query is given up without an early retry',
      busy(3_600),
      500,
      ' 3,600 s',
    ),
    ...SPELLINGS.map(([spelling, spell]) => contract.hidesSecret(spelling, spell)),
    contract.aborts(),
  ];
}

/** Makes the checks of one source. */
export class Contract<Api extends AsyncDisposable, Value> {
  readonly #given: SourceContractOptions<Api, Value>;

  constructor(given: SourceContractOptions<Api, Value>) {
    this.#given = given;
  }

  /** Checks that the source recovers: the server sends the errors, one per request, and then a valid response. */
  recovers(name: string, faults: readonly Respond[], options: Partial<SourceOptions> = {}): ContractCheck {
    return this.check(name, faults, options, async ({ server, credits, query }) => {
      const delivery = await query();
      assert.deepEqual(delivery?.value, this.#given.expected);
      assert.equal(server.requests.length, faults.length + 1);
      delivery?.credit.release();
      assert.equal(credits.outstanding, 0, 'credit is still held');
    });
  }

  /** Checks that the query fails if the server always responds so, and that neither the secret shows nor credit is held. */
  fails(
    name: string,
    respond: Respond,
    options: Partial<SourceOptions>,
    check: (error: SourceError, server: ScriptedServer) => void,
  ): ContractCheck {
    return this.check(name, Array<Respond>(50).fill(respond), options, async ({ server, credits, query }) => {
      const error = await failure(query());
      assert.equal(credits.outstanding, 0, 'credit is still held');
      assert.ok(!revealing(error).includes(SECRET), 'the secret shows in the error');
      check(error, server);
    });
  }

  givesUp(name: string, respond: Respond, retryForMs: number, words: string): ContractCheck {
    return this.fails(name, respond, { retryForMs }, (error, server) => {
      assert.equal(error.code, 'HEADGATE_GAVE_UP');
      assert.equal(error.retryable, true);
      assert.equal(server.requests.length, 1);
      assert.ok(error.message.includes(words), error.message);
    });
  }

  mismatch({ body, where }: MismatchingResponse): ContractCheck {
    const name = `JSON of another form is requested twice, and the error names the place: ${where}`;
    return this.fails(name, whole(body), {}, (error, server) => {
      assert.equal(error.code, 'HEADGATE_UNFIT_ANSWER');
      assert.equal(error.endsSource, false);
      assert.equal(server.requests.length, 2);
      assert.ok(error.message.includes(where), error.message);
      for (const text of textsIn(JSON.parse(body)))
        assert.ok(!error.message.includes(text), `the error quotes the response: ${error.message}`);
    });
  }

  hidesSecret(spelling: string, spell: (secret: string) => string): ContractCheck {
    return this.fails(`a refusal that repeats the secret ${spelling} doesn't put it into an error`, echo(spell), {}, (error) => {
      assert.equal(error.retryable, false);
      const shown = `${error.message} ${revealing(error)}`;
      assert.ok(!shown.includes(spell(SECRET)), 'the secret shows in the error, spelled');
      assert.ok(!shown.replace(/[\s\p{C}]+/gu, '').includes(SECRET.slice(0, 8)), 'a piece of the secret shows in the error');
    });
  }

  endsByLimit(endless: EndlessWalk<Api>): ContractCheck {
    const pages = Array.from({ length: 50 }, (_, i) => whole(endless.page(i + 1)));
    return this.check(
      'a walk without an end stops at its limit, and its error says how to continue',
      pages,
      {},
      async ({ server, api }) => {
        let walked = 0;
        const read = async (): Promise<void> => {
          for await (const _ of endless.walk(api)) walked += 1;
        };
        const error = await failure(read());
        assert.deepEqual([walked, server.requests.length], [5, 5]);
        assert.equal(error.retryable, true);
        assert.equal(error.endsSource, false);
        assert.ok(error.message.includes(`(${endless.option})`), error.message);
      },
    );
  }

  aborts(): ContractCheck {
    const name = 'a query aborted during its request ends the request and holds nothing';
    return this.check(name, [hang], { timeoutMs: 30_000 }, async ({ server, credits, query }) => {
      const abort = new AbortController();
      const requested = query(abort.signal);
      requested.catch(() => undefined);
      await until(() => server.requests.length === 1);
      abort.abort(new Error('enough'));
      await assert.rejects(requested, /enough/);
      assert.equal(credits.outstanding, 0, 'credit is still held');
      await until(() => server.requests[0]?.socket.destroyed === true);
    });
  }

  /** Makes a check with a server that sends the scripted responses, and then valid ones. */
  check(
    name: string,
    script: readonly Respond[],
    options: Partial<SourceOptions>,
    act: (scene: Scene<Api, Value>) => Promise<void>,
  ): ContractCheck {
    const given = this.#given;
    const run = async (): Promise<void> => {
      await using server = await scriptedServer({ script, otherwise: whole(given.body) });
      await using api = given.open({
        baseUrl: server.url,
        credentials: [{ name: 'contract', signer: bearer(SECRET) }],
        limit: { requests: 100, windowMs: 60_000 },
        timeoutMs: 5_000,
        maxBodyBytes: Math.max(MOST_BYTES, given.body.length),
        random: () => 0,
        env: {},
        ...options,
      });
      const credits = creditPool({ max: 1_000_000 });
      await act({ server, api, credits, query: (signal = new AbortController().signal) => given.query(api, { credits, signal }) });
    };
    return { name, run };
  }
}

interface Scene<Api, Value> {
  readonly server: ScriptedServer;
  readonly api: Api;
  readonly credits: CreditPool;
  readonly query: (signal?: AbortSignal) => Promise<Delivery<Value> | undefined>;
}

/** Resolves to the error with which work of a source must fail. */
async function failure(work: Promise<unknown>): Promise<SourceError> {
  const error: unknown = await work.then(
    () => assert.fail('it should have failed'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof SourceError, `expected a SourceError, got ${inspect(error)}`);
  return error;
}

export const SECRET = 'sEcr3t/0f-th3-c0ntr4ct+9876543210==';
export const SPELLINGS: readonly (readonly [spelling: string, spell: (secret: string) => string])[] = [
  ['unchanged', (secret) => secret],
  ['cut in half', (secret) => secret.slice(0, secret.length >> 1)],
  ['split by a control character', (secret) => `${secret.slice(0, 7)}\u0007${secret.slice(7)}`],
  ['percent-encoded throughout', (secret) => Buffer.from(secret).toString('hex').replace(/../g, '%$&')],
  ['in base64, after another word', (secret) => Buffer.from(`token ${secret}`).toString('base64')],
];
export const MOST_BYTES: number = 64 * 1024;

function textsIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return value.length > 8 ? [value] : [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** Returns everything that an error shows when it is printed, serialized or inspected. */
function revealing(error: Error): string {
  return `${inspect(error, { depth: Infinity, showHidden: true })} ${JSON.stringify(error)} ${error.message} ${error.stack ?? ''}`;
}

export async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 5_000;
  while (!condition()) {
    assert.ok(performance.now() < deadline, "it didn't happen within 5 s");
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
