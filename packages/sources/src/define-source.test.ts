import { bearer } from '@headgate/auth';
import { type BudgetSnapshot, creditPool, type Journal } from '@headgate/throttle';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { defineSource } from './define-source.ts';
import { pageNumbers, type WalkedPage } from './paging.ts';
import { requestAllowance } from './request-allowance.ts';
import { credential, idle, MINUTE_MS, ok, play, said, thrown, toy } from './scene.fixture.ts';
import type { SourceDefinition } from './source-definition.ts';
import { SourceError } from './source-error.ts';
import type { SourceOptions } from './source-options.ts';
import { reset } from './testing/hostile-responses.fixture.ts';
import { hang, whole } from './testing/responses.ts';

describe('a refusal for the rate', () => {
  test('a wait of days removes the credential until the next run, and nothing is sent before', async () => {
    const week = said('rate-limited', { retryInMs: 7 * 86_400_000 });
    const scene = await play([week, ok, ok], { credentials: [credential('a'), credential('b')] });
    expect((await scene.query()).value).toBe('good');
    await scene.clock.advance(86_400_000);
    expect((await scene.query()).value).toBe('good');
    expect(scene.events.map(({ outcome, credential: name }) => [name, outcome])).toEqual([
      ['a', 'rate-limited'],
      ['b', 'ok'],
      ['b', 'ok'],
    ]);
    const alone = await play([week]);
    const error: unknown = await alone.query().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'HEADGATE_WAIT_TOO_LONG', retryable: false, endsSource: true });
    expect(String(error)).toMatch(/a: toy asks for a wait of 7 days, until \d{4}-\d\d-\d\d \d\d:\d\d UTC .* start it after that time/);
    expect(alone.server.requests).toHaveLength(1);
  });

  test('a wait of a day, and one that no service can mean, hold only the budget', async () => {
    const scene = await play([said('rate-limited', { retryInMs: 86_400_000 }), said('rate-limited', { retryInMs: 1e15 }), ok]);
    expect((await scene.drive(scene.query(), 60_000)).value).toBe('good');
  });

  test('is waited for as long as the response says, with a new permit and no time limit', async () => {
    const scene = await play([said('rate-limited', { retryInMs: 7_000 }), ok], { retryForMs: 0 });
    const requested = scene.query();
    await scene.requests(1);
    await expect.poll(() => scene.events.length).toBe(1);
    expect(scene.credits.outstanding).toBe(0);
    await scene.clock.advance(6_999);
    expect(scene.server.requests).toHaveLength(1);
    await scene.clock.advance(1);
    expect((await requested).value).toBe('good');
    expect(scene.events).toMatchObject([
      { outcome: 'rate-limited', status: 200, retryInMs: 7_000, subject: '/x', credential: 'a' },
      { outcome: 'ok' },
    ]);
  });

  test('without a wait holds for a window, and for two the second time', async () => {
    const scene = await play([said('rate-limited'), said('rate-limited'), ok]);
    const requested = scene.query();
    await scene.requests(1);
    await expect.poll(() => scene.events.length).toBe(1);
    await scene.clock.advance(MINUTE_MS);
    await scene.requests(2);
    await expect.poll(() => scene.events.length).toBe(2);
    await scene.clock.advance(2 * MINUTE_MS - 1);
    expect(scene.server.requests).toHaveLength(2);
    await scene.clock.advance(1);
    expect((await requested).value).toBe('good');
  });

  test('leaves the other credentials alone', async () => {
    const scene = await play([said('rate-limited'), ok], { credentials: [credential('a'), credential('b')] });
    await scene.query();
    expect(scene.events.map((event) => event.credential)).toEqual(['a', 'b']);
    expect(scene.clock.monotonicMs()).toBe(0);
  });
});

test('a signer that is slower than the permit lasts gets more time, and a fast one less again', async () => {
  const leases: number[] = [];
  const journal: Journal = {
    leaseMs: 1_000,
    open: (_, snapshot) => ({
      restored: [],
      granted: async () => {
        // The snapshot counts this slot as busy for its lease, the maximum delay (5 s), and the window with its margin. Only the lease is
        // kept here.
        leases.push((snapshot()[0]?.busy.at(-1)?.[0] ?? 0) - 5_000 - MINUTE_MS * 1.0005 - 5);
      },
      settled: () => undefined,
      flush: () => undefined,
    }),
  };
  let slowMs = 10_000;
  const sign = async (): Promise<object> => {
    await new Promise<void>((resolve) => void scene.clock.schedule(slowMs, resolve));
    return {};
  };
  const scene = await play([ok], { journal, credentials: [{ name: 'a', signer: { sign } }] });
  const credits = creditPool({ max: 100 });
  const query = async (): Promise<unknown> => await scene.drive(scene.source.query('/x', { credits }), 1_000);
  await query();
  expect(leases).toEqual([1_000, 21_000]);
  slowMs = 0;
  for (let i = 0; i < 6; i += 1) await query();
  expect(scene.server.requests.length).toBe(7);
  expect(leases.at(-1)).toBeLessThan(3_000);
});

test('what a response without a page says about the budgets is written at once; a page writes it itself', async () => {
  const written: (readonly BudgetSnapshot[])[] = [];
  const journal: Journal = {
    leaseMs: 1_000,
    open: (_, snapshots) => ({
      restored: undefined,
      granted: () => Promise.resolve(),
      settled: () => undefined,
      flush: () => void written.push(snapshots()),
    }),
  };
  const scene = await play([said('rate-limited', { retryInMs: 900_000 }), said('transient'), reset, ok], { journal });
  const requested = scene.query();
  await expect.poll(() => scene.events.length).toBe(1);
  expect(written.map(([budget]) => budget?.heldMs)).toEqual([900_000]);
  await scene.drive(requested, 1_000);
  expect(scene.events.map(({ outcome }) => outcome)).toEqual(['rate-limited', 'transient', 'transient', 'ok']);
  expect(written).toHaveLength(2);
  await scene.query();
  expect(written).toHaveLength(2);
});

describe('a transient failure', () => {
  test('is retried until the time is over, then given up with all that is known', async () => {
    const scene = await play([], { otherwise: said('transient', { reason: 'it is tired' }), retryForMs: 10_000, random: () => 0.9 });
    const requested = scene.query().catch((error: unknown) => error);
    const error = await scene.drive(requested, 100);
    expect(error).toBeInstanceOf(SourceError);
    expect(error).toMatchObject({ code: 'HEADGATE_GAVE_UP', retryable: true, service: 'toy', subject: '/x', status: 200 });
    const tries = scene.server.requests.length;
    expect(tries).toBe(6);
    expect((error as Error).message).toBe(
      `/x: gave up after ${tries} attempts over 10 s: it is tired. Retry later, or allow more time (retryFor; in code retryForMs). ` +
        'If the service keeps responding so, report it to the service.',
    );
    expect(scene.events.at(-1)).not.toHaveProperty('retryInMs');
  });

  test('is given up at once if the service requests a longer wait, and says so', async () => {
    const scene = await play([said('transient', { reason: 'it is tired', retryInMs: 3_600_000 })], { retryForMs: 600_000 });
    await expect(scene.query()).rejects.toMatchObject({
      code: 'HEADGATE_GAVE_UP',
      retryable: true,
      message:
        '/x: gave up after 1 attempt: it is tired. The service asks for a wait of 3,600 s, but only 600 s are left. ' +
        'Retry after that, or allow more time (retryFor; in code retryForMs).',
    });
    expect(scene.clock.monotonicMs()).toBe(0);
    expect(scene.server.requests).toHaveLength(1);
  });

  test('waits a random time if the definition reads no number of ms from the response', async () => {
    const classify = () => ({ kind: 'transient', reason: 'it is tired', retryInMs: Number.NaN }) as const;
    const scene = await play([], { retryForMs: 10_000, random: () => 0.9 }, { classify });
    const error = await scene.drive(
      scene.query().catch((thrownBy: unknown) => thrownBy),
      100,
    );
    expect(error).toMatchObject({ code: 'HEADGATE_GAVE_UP' });
    expect(scene.events.slice(0, 4).map(({ retryInMs }) => retryInMs)).toEqual([475, 950, 1_900, 3_800]);
  });

  test('is not given up while it waits for budget', async () => {
    const scene = await play([said('transient'), said('transient'), ok], {
      retryForMs: 5_000,
      limit: { requests: 1, windowMs: MINUTE_MS },
    });
    expect(await scene.drive(scene.query(), 1_000)).toMatchObject({ value: 'good' });
    expect(scene.clock.monotonicMs()).toBeGreaterThan(2 * MINUTE_MS);
  });

  test('waits without holding capacity', async () => {
    const scene = await play([said('transient'), ok], { random: () => 0.999 });
    const requested = scene.query();
    await expect.poll(() => scene.events.length).toBe(1);
    expect(scene.credits.outstanding).toBe(0);
    await scene.drive(requested, 100);
    expect(scene.credits.outstanding).toBe(4);
  });

  test('of a timeout: the injected clock decides, and the token is not returned before the service must have counted it', async () => {
    const scene = await play([hang, ok], { timeoutMs: 30_000, limit: { requests: 1, windowMs: MINUTE_MS }, maxDelayMs: 5_000 });
    const requested = scene.query();
    await scene.requests(1);
    await scene.clock.advance(29_999);
    expect(scene.events).toHaveLength(0);
    await scene.clock.advance(1);
    await expect
      .poll(() => scene.events)
      .toMatchObject([{ outcome: 'transient', reason: expect.stringContaining('no response arrived within 30,000 ms') }]);
    await scene.clock.advance(MINUTE_MS + 5_000);
    expect(scene.server.requests).toHaveLength(1);
    await scene.clock.advance(100);
    expect((await requested).value).toBe('good');
  });
});

describe('a connection that died while idle', () => {
  test('is replaced at once, without a pause', async () => {
    const scene = await play([ok, reset, ok], { random: () => 0.999 });
    (await scene.query()).credit.release();
    await idle();
    (await scene.query()).credit.release();
    expect(scene.clock.monotonicMs()).toBe(0);
    expect(scene.events.map((event) => event.outcome)).toEqual(['ok', 'transient', 'ok']);
    expect(scene.events[1]).toMatchObject({ retryInMs: 0 });
    expect(scene.server.requests[1]?.socket).toBe(scene.server.requests[0]?.socket);
    expect(scene.server.requests[2]?.socket).not.toBe(scene.server.requests[0]?.socket);
  });

  test('and so are all other idle ones', async () => {
    const scene = await play([ok, ok, reset, ok]);
    const [first, second] = await Promise.all([scene.query(), scene.query()]);
    first.credit.release();
    second.credit.release();
    await idle();
    (await scene.query()).credit.release();
    const sockets = scene.server.requests.map(({ socket }) => socket);
    expect(new Set(sockets).size).toBe(3);
    expect(sockets.slice(0, 3).filter((socket) => socket === sockets[3])).toHaveLength(0);
  });

  test('a new one that is reset is a failure like others', async () => {
    const scene = await play([reset, ok], { random: () => 0.999 });
    const requested = scene.query();
    await expect.poll(() => scene.events).toMatchObject([{ outcome: 'transient', retryInMs: 499.75 }]);
    await scene.drive(requested, 100);
  });

  test('without a budget for a second request it waits for one', async () => {
    const scene = await play([ok, reset, ok], { limit: { requests: 2, windowMs: MINUTE_MS } });
    (await scene.query()).credit.release();
    await idle();
    const requested = scene.query();
    await expect.poll(() => scene.events.length).toBe(2);
    await idle();
    expect(scene.server.requests).toHaveLength(2);
    await scene.drive(requested, 1_000);
    expect(scene.server.requests).toHaveLength(3);
  });
});

describe('a refused credential', () => {
  test('is removed, and the others continue', async () => {
    const scene = await play([said('unauthorized'), ok, ok], { credentials: [credential('a'), credential('b')] });
    (await scene.query()).credit.release();
    (await scene.query()).credit.release();
    expect(scene.events.map(({ outcome, credential: name }) => [outcome, name])).toEqual([
      ['unauthorized', 'a'],
      ['ok', 'b'],
      ['ok', 'b'],
    ]);
    expect(scene.source.gauges().budgets.map((budget) => budget.credential)).toEqual(['b']);
  });

  test('was the last: all waiting requests reject with the reason', async () => {
    const scene = await play([], { otherwise: said('unauthorized'), limit: { requests: 1, windowMs: MINUTE_MS } });
    const queries = await Promise.allSettled([scene.query(), scene.query(), scene.query()]);
    for (const requested of queries) expect(requested).toMatchObject({ status: 'rejected', reason: { code: 'HEADGATE_TOY' } });
    expect(scene.server.requests).toHaveLength(1);
  });

  test('waits for its secret, and so does the request, without a time limit', async () => {
    let secret: string | undefined;
    const token = (): string => {
      if (secret === undefined) throw Object.assign(new Error('./token is empty.'), { code: 'HEADGATE_SECRET_AWAITED' });
      return secret;
    };
    const scene = await play([ok], { credentials: [{ name: 'a', signer: bearer(token) }], retryForMs: 10_000, random: () => 0.9 });
    const query = scene.query();
    await scene.clock.advance(60 * MINUTE_MS);
    expect(scene.events.at(-1)).toMatchObject({ outcome: 'transient', reason: 'a: ./token is empty.', retryInMs: 5_000 });
    expect(scene.server.requests).toHaveLength(0);
    secret = 'brought';
    expect((await scene.drive(query, 1_000)).value).toBe('good');
    expect(scene.server.requests).toHaveLength(1);
  });

  test('or cannot sign: no request is made, no token is spent, and its error is not shown', async () => {
    const broken = {
      sign: () => {
        throw new Error('the-secret is wrong');
      },
    };
    const scene = await play([], { credentials: [{ name: 'a', signer: broken }] });
    const error: unknown = await scene.query().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'HEADGATE_CREDENTIAL_UNUSABLE', credential: 'a' });
    expect(String(error)).not.toContain('the-secret');
    expect(scene.server.requests).toHaveLength(0);
  });
});

describe('a clock that the service refuses', () => {
  test('is corrected, and again after it was set right', async () => {
    const scene = await play([said('clock-wrong'), ok, said('clock-wrong', { offsetMs: 0 }), ok], { credentials: [late()] });
    (await scene.query()).credit.release();
    (await scene.query()).credit.release();
    expect(adjustClock.mock.calls).toEqual([[90_000], [0]]);
    expect(scene.events.map(({ outcome, reason }) => reason ?? outcome)).toEqual([
      "a: the service's clock is 90 s ahead of ours; corrected",
      'ok',
      "a: the service's clock is 0 s ahead of ours; corrected",
      'ok',
    ]);
  });

  test('by more than a day is not corrected, and the request is retried', async () => {
    const scene = await play([said('clock-wrong', { offsetMs: 251_606_980_416_000 }), said('clock-wrong', { offsetMs: -3_000 }), ok], {
      credentials: [late()],
    });
    expect((await scene.query()).value).toBe('good');
    expect(adjustClock.mock.calls).toEqual([[-3_000]]);
    expect(scene.events[0]).toMatchObject({
      outcome: 'transient',
      reason: "a: the service's clock is 251,606,980,416 s ahead of ours: more than a day isn't corrected, so the request is retried",
    });
  });

  test('three times in a row removes the credential, and reports the attempts', async () => {
    const scene = await play([], { otherwise: said('clock-wrong'), credentials: [late()] });
    await expect(scene.query()).rejects.toMatchObject({
      code: 'HEADGATE_TOY',
      endsSource: true,
      message: "toy The service's clock is 90 s ahead of ours in its last response, and 3 corrections in a row didn't help.",
    });
    expect(scene.server.requests).toHaveLength(4);
  });

  test('by more than a day each time removes the credential, and the error says what to do', async () => {
    const scene = await play([], { otherwise: said('clock-wrong', { offsetMs: 1_767_225_600_000 }), credentials: [late()] });
    await expect(scene.query()).rejects.toMatchObject({
      message: "toy The service's clock is 1,767,225,600 s ahead of ours in its last response: set this machine's clock.",
    });
    expect(scene.server.requests).toHaveLength(4);
  });

  test("is a refusal of the credential if its signer has no clock, so the signer's secret is read again", async () => {
    let token = 'old';
    const signer = bearer(({ refused }) => Promise.resolve(refused ? (token = 'new') : token));
    const scene = await play([said('clock-wrong'), ok, said('clock-wrong'), said('clock-wrong')], { credentials: [{ name: 'a', signer }] });
    expect((await scene.query()).value).toBe('good');
    expect(scene.server.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer old', 'Bearer new']);
    const other = await play([said('clock-wrong')], { credentials: [credential('a'), credential('b')] });
    expect((await other.query()).value).toBe('good');
    expect(other.events.map(({ outcome, credential: name }) => [name, outcome])).toEqual([
      ['a', 'unauthorized'],
      ['b', 'ok'],
    ]);
  });

  test('by requests in flight together is one refusal', async () => {
    const scene = await play([said('clock-wrong'), said('clock-wrong')], { credentials: [late()] });
    await Promise.all([scene.query(), scene.query()]);
    expect(adjustClock).toHaveBeenCalledOnce();
    expect(scene.events.map(({ outcome }) => outcome)).toEqual(['transient', 'transient', 'ok', 'ok']);
  });

  const adjustClock = vi.fn<(ms: number) => void>();
  const late = (): SourceOptions['credentials'][number] => {
    adjustClock.mockClear();
    return { name: 'a', signer: { sign: () => ({ authorization: 'x' }), adjustClock } };
  };
});

test('the classifier knows whether the credential was refused lately', async () => {
  const scene = await play([said('rate-limited', { retryInMs: 59_000 }), ok, ok]);
  await scene.drive(scene.query(), 1_000);
  await scene.clock.advance(MINUTE_MS);
  await scene.drive(scene.query(), 1_000);
  expect(scene.contexts.map(({ recentlyRefused }) => recentlyRefused)).toEqual([false, true, false]);
});

describe('an ambiguous response', () => {
  test('ends its request, and the attempt is reported', async () => {
    const scene = await play([said('ambiguous')]);
    await expect(scene.query()).rejects.toMatchObject({ code: 'HEADGATE_TOY' });
    expect(scene.events).toMatchObject([{ outcome: 'ambiguous', status: 200 }]);
  });

  test("doesn't end a series of refusals, because it may be one", async () => {
    const scene = await play([said('rate-limited'), said('ambiguous'), said('rate-limited')]);
    await expect(scene.drive(scene.query(), 1_000)).rejects.toMatchObject({ code: 'HEADGATE_TOY' });
    await scene.drive(scene.query(), 1_000);
    expect(scene.events.map(({ retryInMs }) => retryInMs)).toEqual([MINUTE_MS, undefined, 2 * MINUTE_MS, undefined]);
  });

  test.each([
    [{}, 'HEADGATE_FAILURES_IN_A_ROW'],
    [{ isAskedAgain: true }, 'HEADGATE_TOY'],
  ])('%j: the third one in a row, before any success, ends the source or not: %s', async (more, code) => {
    const scene = await play([], { otherwise: said('ambiguous', more), stopAfterFailures: 2 });
    for (let i = 0; i < 2; i += 1) await scene.query().catch(() => undefined);
    await expect(scene.query()).rejects.toMatchObject({ code });
  });
});

test.each([
  ['not-found', 'gone'],
  ['fatal', 'fatal'],
] as const)('%s ends it at once', async (kind, outcome) => {
  const scene = await play([said(kind)]);
  await expect(scene.query()).rejects.toMatchObject({ code: 'HEADGATE_TOY', subject: '/x' });
  expect(scene.events).toMatchObject([{ outcome, status: 200 }]);
});

test('a classifier that throws ends that query with an error, not the process', async () => {
  const scene = await play([whole('not JSON')]);
  await expect(scene.query()).rejects.toMatchObject({
    code: 'HEADGATE_CLASSIFY',
    retryable: false,
    cause: expect.any(SyntaxError),
    message: expect.stringContaining('classify of the toy source threw SyntaxError: '),
  });
});

test('words of a classifier that throws are shown without the secret that they quote', async () => {
  const classify = (): never => {
    throw new Error('unfit: token-of-a');
  };
  const scene = await play([], {}, { classify });
  const error = await scene.query().catch(String);
  expect(error).toContain('classify of the toy source threw Error: unfit: ');
  expect(error).not.toContain('token-of-a');
});

test('a classifier that returns no verdict ends that query alone', async () => {
  let calls = 0;
  const scene = await play([], {}, { classify: () => ((calls += 1) === 1 ? (undefined as never) : { kind: 'ok', value: 'good' }) });
  await expect(scene.query()).rejects.toMatchObject({ code: 'HEADGATE_CLASSIFY', message: expect.stringContaining("reading 'kind'") });
  await expect(scene.query()).resolves.toMatchObject({ value: 'good' });
});

test.each(['toRequest', 'classify', 'subject', 'items', 'itemsOf', 'weights', 'evidence'] as const)(
  '%s that returns a promise ends that query, and its rejection ends no process',
  async (name) => {
    const asynchronous = () => Promise.reject(new Error('too late'));
    const scene = await play([], {}, { [name]: asynchronous as never });
    await expect(scene.query()).rejects.toMatchObject({
      code: name === 'classify' ? 'HEADGATE_CLASSIFY' : 'HEADGATE_DEFINITION',
      message: expect.stringContaining('it returned a promise, and must return synchronously'),
    });
  },
);

test.each([
  ['items', NaN],
  ['itemsOf', -1],
  ['weights', { rate: 1.5 }],
] as const)('%s that returns %j is an error of the definition, and is named', async (name, given) => {
  const scene = await play([], {}, { [name]: () => given });
  const message = expect.stringMatching(new RegExp(`: ${name} of the toy source threw RangeError: it returned .*whole number`));
  await expect(scene.query()).rejects.toMatchObject({ code: 'HEADGATE_DEFINITION', message });
});

describe('a definition that throws ends that query with its cause, and no other', () => {
  const cause = new TypeError('no such path');
  const fail = (): never => {
    throw cause;
  };
  test.each<[string, Partial<SourceDefinition<string, string>>, string, number]>([
    ['toRequest', { toRequest: (path) => (path === '/x' ? fail() : { method: 'GET', path }) }, '/x: ', 0],
    ['subject', { subject: (path) => (path === '/x' ? fail() : path) }, 'toy: ', 0],
    ['items', { items: (path) => (path === '/x' ? fail() : 10) }, '/x: ', 0],
    ['weights', { weights: (path) => (path === '/x' ? fail() : {}) }, '/x: ', 0],
    ['itemsOf', { itemsOf: (value) => (value === 'bad' ? fail() : 1) }, '/x: ', 1],
  ])('%s', async (name, broken, about, requests) => {
    const scene = await play(requests === 0 ? [] : [whole('"bad"')], {}, broken);
    const error: unknown = await scene.query().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SourceError);
    expect(error).toMatchObject({
      code: 'HEADGATE_DEFINITION',
      retryable: false,
      endsSource: false,
      cause,
      message: expect.stringMatching(
        new RegExp(`^${about}${name} of the toy source threw TypeError: no such path \\(at .*define-source.test.ts.*\\)\\. Fix the`),
      ),
    });
    expect(scene.server.requests).toHaveLength(requests);
    expect(scene.credits.outstanding).toBe(0);
    expect((await scene.query('/y')).value).toBe('good');
  });

  test('a message that quotes a whole response is cut', async () => {
    const subject = (): never => {
      throw new Error('x'.repeat(1_000_000));
    };
    const error: unknown = await (await play([], {}, { subject })).query().catch((reason: unknown) => reason);
    expect(String(error).length).toBeLessThan(3_000);
  });

  test('an error that it makes itself is kept as it is', async () => {
    const own = new SourceError({ code: 'HEADGATE_TOY', message: '/x: no such thing', retryable: false, service: 'toy' });
    const scene = await play(
      [],
      {},
      {
        toRequest: () => {
          throw own;
        },
      },
    );
    await expect(scene.query()).rejects.toBe(own);
  });

  test('a request that cannot be put on the wire is no fault of the credential', async () => {
    const scene = await play([], {}, { toRequest: (path) => ({ method: 'GET', path: '/', query: { path } }) });
    await expect(scene.query('half a character: \uD83D')).rejects.toMatchObject({
      code: 'HEADGATE_DEFINITION',
      cause: expect.any(URIError),
    });
    expect((await scene.query('whole')).value).toBe('good');
  });
});

test('what costs more than a budget holds is refused instead of waiting for ever', async () => {
  const scene = await play([]);
  await expect(scene.query('/costly')).rejects.toMatchObject({ code: 'HEADGATE_OVER_BUDGET' });
  expect(scene.server.requests).toHaveLength(0);
});

describe('of credentials with different limits', () => {
  const credentials = [
    { ...credential('small'), budgets: { rate: { requests: 5, windowMs: MINUTE_MS } } },
    { ...credential('large'), budgets: { rate: { requests: 300, windowMs: MINUTE_MS } } },
  ];

  test('a request uses one that can afford it', async () => {
    const scene = await play([ok, ok], { credentials });
    await scene.query('/costly');
    await scene.query('/costly');
    expect(scene.events.map((event) => event.credential)).toEqual(['large', 'large']);
  });

  test('a waiting request is refused when the last one that could afford it is removed', async () => {
    const scene = await play([said('unauthorized')], { credentials });
    await expect(scene.query('/costly')).rejects.toMatchObject({ code: 'HEADGATE_OVER_BUDGET', subject: '/costly' });
    expect((await scene.query()).value).toBe('good');
  });
});

test('an observer that throws is reported once, as a warning of the process', async () => {
  const warnings: Error[] = [];
  const listen = (warning: Error): void => void warnings.push(warning);
  process.on('warning', listen);
  onTestFinished(() => void process.off('warning', listen));
  const onAttempt = vi.fn<() => void>(() => {
    throw new Error('no such metric');
  });
  const scene = await play([ok, said('not-found')], { onAttempt });
  expect((await scene.query()).value).toBe('good');
  await expect(scene.query()).rejects.toMatchObject({ code: 'HEADGATE_TOY' });
  expect(onAttempt).toHaveBeenCalledTimes(2);
  await idle();
  expect(warnings.map(({ message }) => message)).toEqual([
    "toy: onAttempt threw Error: no such metric. Requests continue. Fix onAttempt: its further errors aren't shown.",
  ]);
});

describe('aborting', () => {
  test('while it waits for budget, for its response, or for the next attempt: nothing is held and no timer is left', async () => {
    for (const [script, eventsFirst] of [
      [[hang], 0],
      [[said('rate-limited')], 1],
      [[said('transient')], 1],
    ] as const) {
      const scene = await play(script, { random: () => 0.999 });
      const abort = new AbortController();
      const requested = scene.query('/x', abort.signal).catch((error: unknown) => error);
      await scene.requests(1);
      await expect.poll(() => scene.events.length).toBe(eventsFirst);
      const reason = new Error('enough');
      abort.abort(reason);
      expect(await requested).toBe(reason);
    }
  });

  test('before it starts: no request', async () => {
    const scene = await play([ok]);
    const reason = new Error('enough');
    await expect(scene.query('/x', AbortSignal.abort(reason))).rejects.toBe(reason);
    expect(scene.server.requests).toHaveLength(0);
  });

  test('while connecting: no byte is sent, and the token is free again', async () => {
    const scene = await play([ok]);
    const abort = new AbortController();
    const requested = scene.query('/x', abort.signal).catch((error: unknown) => error);
    // Lets the source get the permit and begin to connect.
    await Promise.resolve().then(() => undefined);
    await new Promise<void>((resolve) => {
      process.nextTick(resolve);
    });
    abort.abort(new Error('enough'));
    expect(await requested).toMatchObject({ message: 'enough' });
    expect(scene.source.gauges().budgets).toMatchObject([{ used: 0 }]);
    // If the request had been sent, it would have arrived before this one.
    await scene.query('/next');
    expect(scene.server.requests).toHaveLength(1);
  });

  test('closing ends requests in flight, and later ones', async () => {
    const scene = await play([hang]);
    const requested = scene.query().catch((error: unknown) => error);
    await scene.requests(1);
    await scene.source.close();
    expect(await requested).toMatchObject({ code: 'HEADGATE_CLOSED' });
    await expect(scene.query()).rejects.toMatchObject({ code: 'HEADGATE_CLOSED' });
  });
});

describe('equal failures in a row', () => {
  const refuse = (kind: 'not-found' | 'fatal', times: number) => Array.from({ length: times }, () => said(kind));
  const ends = { code: 'HEADGATE_FAILURES_IN_A_ROW', endsSource: true };
  const own = { code: 'HEADGATE_TOY', endsSource: false };

  test('end the source: the last of them fails like the others, and later requests send nothing', async () => {
    const scene = await play(refuse('fatal', 9), { stopAfterFailures: 3 });
    for (let i = 0; i < 3; i += 1) await expect(scene.query()).rejects.toMatchObject(own);
    await expect(scene.query()).rejects.toMatchObject(ends);
    expect(scene.server.requests).toHaveLength(3);
    await expect(scene.query()).rejects.toThrow(/^toy: 3 requests in a row ended with HEADGATE_TOY \(200\), and none succeeded\. /);
  });

  test('are counted from 0 again after a success', async () => {
    const scene = await play([...refuse('fatal', 2), ok, ...refuse('fatal', 3)], { stopAfterFailures: 3 });
    for (let i = 0; i < 2; i += 1) await expect(scene.query()).rejects.toMatchObject(own);
    await scene.query();
    for (let i = 0; i < 3; i += 1) await expect(scene.query()).rejects.toMatchObject(own);
    await expect(scene.query()).rejects.toMatchObject(ends);
  });

  test('count for what does not exist only until there is a success', async () => {
    const early = await play(refuse('not-found', 9), { stopAfterFailures: 3 });
    for (let i = 0; i < 3; i += 1) await expect(early.query()).rejects.toMatchObject(own);
    await expect(early.query()).rejects.toMatchObject(ends);
    const late = await play([ok, ...refuse('not-found', 9)], { stopAfterFailures: 3 });
    await late.query();
    for (let i = 0; i < 9; i += 1) await expect(late.query()).rejects.toMatchObject(own);
  });

  test('change nothing by default', async () => {
    const scene = await play(refuse('fatal', 20));
    for (let i = 0; i < 20; i += 1) await expect(scene.query()).rejects.toMatchObject(own);
    await scene.query();
  });
});

describe('pages', () => {
  const straight = (count: number) => pageNumbers<string, string>({ query: (page) => `/${page}`, isLast: (_, page) => page >= count });

  test('walks from page to page, again for each iteration, and continues where an earlier walk stopped', async () => {
    const scene = await play(Array.from({ length: 7 }, () => ok));
    const pages = scene.source.pages(straight(3));
    const got: WalkedPage<string, number>[] = [];
    for await (const one of pages) got.push(one);
    expect(got.map(({ page, number, cursor }) => [page, number, cursor])).toEqual([
      ['good', 1, 1],
      ['good', 2, 2],
      ['good', 3, 3],
    ]);
    for await (const one of pages) if (one.number === 2) break;
    for await (const one of scene.source.pages(straight(3), { from: got[1]?.next })) expect(one).toEqual(got[2]);
    expect(scene.server.requests.map(({ url }) => url)).toEqual(['/1', '/2', '/3', '/1', '/2', '/3']);
  });

  test('ends a loop after the page that leads into it, with an error that names service and subject', async () => {
    const scene = await play([ok, ok]);
    const got: number[] = [];
    const circle = { ...straight(3), next: (_: string, page: number) => ({ cursor: 3 - page }) };
    const walked = (async () => {
      for await (const { number } of scene.source.pages(circle)) got.push(number);
    })();
    await expect(walked).rejects.toMatchObject({ code: 'HEADGATE_CURSOR_LOOP', service: 'toy', subject: '/1' });
    expect(got).toEqual([1, 2]);
    expect(scene.server.requests.map(({ url }) => url)).toEqual(['/1', '/2']);
  });
});

test('a query that is aborted while it waits for capacity gives its request back to the allowance', async () => {
  const onUsedUp = vi.fn();
  const scene = await play([], { allowance: requestAllowance({ max: 1, onUsedUp }) });
  const held = scene.credits.reserve(20);
  const abort = new AbortController();
  const aborted = scene.query('/1', abort.signal);
  const next = scene.query('/2');
  await scene.clock.settle();
  abort.abort(new Error('enough'));
  await expect(aborted).rejects.toThrow('enough');
  held.release();
  await next;
  expect(onUsedUp).not.toHaveBeenCalled();
});

test('requests that wait for their budget leave the allowance to another source, and end with it', async () => {
  const onUsedUp = vi.fn();
  const allowance = requestAllowance({ max: 3, onUsedUp });
  const slow = await play([], { allowance, limit: { requests: 1, windowMs: MINUTE_MS } });
  const first = ['/1', '/2', '/3'].map((path) => slow.query(path));
  await slow.requests(1);
  const fast = await play([], { allowance });
  const next = fast.query();
  await fast.requests(1);
  await Promise.all([first[0], next]);
  await slow.drive(first[1] ?? next, 1_000);
  expect([slow.server.requests.length, onUsedUp.mock.calls.length]).toEqual([2, 1]);
  await slow.clock.advance(3 * MINUTE_MS);
  const last = fast.query();
  await fast.clock.advance(MINUTE_MS);
  expect([slow.server.requests.length, fast.server.requests.length, onUsedUp.mock.calls.length]).toEqual([2, 1, 1]);
  for (const { source } of [slow, fast]) source.stop();
  await expect(first[2]).rejects.toMatchObject({ code: 'HEADGATE_STOPPED' });
  await expect(last).rejects.toMatchObject({ code: 'HEADGATE_STOPPED' });
});

test('the refusal of the last credential is the error of the requests that wait, even with the last request of an allowance', async () => {
  const onUsedUp = vi.fn();
  const scene = await play([said('unauthorized')], { allowance: requestAllowance({ max: 1, onUsedUp }) });
  const requested = [scene.query('/1'), scene.query('/2')];
  await Promise.all(requested.map((one) => expect(one).rejects.toMatchObject({ code: 'HEADGATE_TOY', endsSource: true })));
  expect(onUsedUp).not.toHaveBeenCalled();
});

test('an allowance is used up before the pause of a request that may not be sent again', async () => {
  const onUsedUp = vi.fn();
  const scene = await play([said('transient', { retryInMs: MINUTE_MS })], { allowance: requestAllowance({ max: 1, onUsedUp }) });
  const requested = scene.query();
  await scene.requests(1);
  await expect.poll(() => onUsedUp.mock.calls.length).toBe(1);
  scene.source.stop();
  await expect(requested).rejects.toMatchObject({ code: 'HEADGATE_STOPPED' });
});

test('attempts without a secret are given back to the allowance', async () => {
  let secret: string | undefined;
  const signer = bearer(() => {
    if (secret === undefined) throw Object.assign(new Error('./token is empty.'), { code: 'HEADGATE_SECRET_AWAITED' });
    return secret;
  });
  const onUsedUp = vi.fn();
  const scene = await play([ok], { credentials: [{ name: 'a', signer }], allowance: requestAllowance({ max: 1, onUsedUp }) });
  const requested = scene.query();
  await scene.clock.advance(MINUTE_MS);
  secret = 'brought';
  await scene.drive(requested, 1_000);
  expect([scene.server.requests.length, onUsedUp.mock.calls.length]).toEqual([1, 0]);
});

test('a definition needs no more than its requests and verdicts, and its error codes are its own', async () => {
  const answers = ['"good"', '{}'];
  const make = defineSource<string, string>({
    service: 'toy',
    limit: { requests: 10, windowMs: 1_000 },
    toRequest: (path) => ({ path }),
    classify({ body }) {
      const value: unknown = JSON.parse(body.toString());
      if (typeof value === 'string') return { kind: 'ok', value };
      return {
        kind: 'not-found',
        error: new SourceError({ code: 'NO_SUCH_TOY', message: 'There is no such toy.', retryable: false, service: 'toy' }),
      };
    },
  });
  const subjects: string[] = [];
  await using api = make({
    baseUrl: 'https://toys.example.com',
    credentials: [credential('a')],
    fetch: () => Promise.resolve(new Response(answers.shift())),
    onAttempt: ({ subject }) => subjects.push(subject),
  });
  const credits = creditPool({ max: 10 });
  const { value, credit } = await api.query('/1', { credits });
  expect([value, credit.items, credits.outstanding]).toEqual(['good', 1, 1]);
  await expect(api.query('/2', { credits })).rejects.toMatchObject({ code: 'NO_SUCH_TOY' });
  expect(subjects).toEqual(['toy', 'toy']);
});

describe('options', () => {
  const base = { baseUrl: 'https://api.example.com', credentials: [credential('a')], limit: { requests: 1, windowMs: 1 } };
  test.each<[object, string]>([
    [{ baseUrl: 'api.example.com' }, 'baseUrl must be'],
    [{ baseUrl: 'ftp://example.com' }, 'not ftp:'],
    [{ baseUrl: 'https://user:hidden@example.com' }, 'without user and password'],
    [{ baseUrl: 'https://example.com/?q=hidden' }, 'without query'],
    [{ credentials: [] }, 'credentials must be one or more'],
    [{ credentials: [credential('a'), credential('a')] }, '"a" occurs twice'],
    [{ credentials: [credential('')] }, 'a name is empty'],
    [{ limit: { requests: 1.5, windowMs: 1 } }, 'limit.requests must be a whole number'],
    [{ limit: { requests: 1, windowMs: 0 } }, 'limit.windowMs must be a number above 0'],
    [{ timeoutMs: 0 }, 'timeoutMs must be'],
    [{ timeoutMs: NaN }, 'timeoutMs must be'],
    [{ timeoutMs: 2 ** 31 }, 'timeoutMs must be'],
    [{ concurrency: 0 }, 'concurrency must be a whole number from 1, got 0'],
    [{ concurrency: 1.5 }, 'concurrency must be a whole number from 1, got 1.5'],
    [{ maxBodyBytes: 0 }, 'maxBodyBytes must be'],
    [{ retryForMs: -1 }, 'retryForMs must be'],
    [{ proxy: 'hidden' }, 'proxy must be'],
    [{ userAgent: 'a\nb' }, 'userAgent must be'],
  ])('%j is refused', (given, words) => {
    const make = defineSource<string, string>(toy([]));
    const error = thrown(() => make({ ...base, ...given }));
    expect(error).toMatchObject({ code: 'HEADGATE_INVALID_OPTION', service: 'toy' });
    expect(String(error)).toContain(words);
    expect(String(error)).not.toContain('hidden');
  });

  test('a service without its own budget needs one', () => {
    const { limit: _, ...without } = base;
    expect(() => defineSource<string, string>(toy([]))(without)).toThrow('limit must be given');
  });
});

test('gauges show which queries are in flight, and which pause, why and until when', async () => {
  const scene = await play([said('transient', { reason: 'it is tired' }), hang], { random: () => 0.5 });
  const walk = {};
  const given = new AbortController();
  const requested = scene.source.query('/x', { credits: scene.credits, walk, signal: given.signal });
  const queries = () => scene.source.gauges().queries;
  await expect.poll(() => queries()[0]?.state).toBe('retrying');
  const [pausing] = queries();
  const at = pausing?.state === 'retrying' ? pausing.until : 0;
  const query = { id: walk, subject: '/x', weights: { rate: 1 } };
  expect(queries()).toEqual([{ ...query, state: 'retrying', until: at, reason: 'it is tired' }]);
  expect(at).toBeGreaterThan(scene.clock.epochMs());
  await scene.clock.advance(at - scene.clock.epochMs());
  await scene.requests(2);
  expect(queries()).toEqual([{ ...query, state: 'requesting', credential: 'a', since: at }]);
  given.abort();
  await expect(requested).rejects.toThrow('aborted');
  expect(queries()).toEqual([]);
});

test('a query that waits for its budget again after a pause is one row', async () => {
  const limit = { requests: 1, windowMs: 60_000 };
  const scene = await play([said('transient', { reason: 'it is tired' }), hang], { random: () => 0.5, limit });
  const given = new AbortController();
  const requested = scene.source.query('/x', { credits: scene.credits, signal: given.signal });
  const queries = () => scene.source.gauges().queries;
  await expect.poll(() => queries()[0]?.state).toBe('retrying');
  const [pausing] = queries();
  await scene.clock.advance(pausing?.state === 'retrying' ? pausing.until - scene.clock.epochMs() : 0);
  await expect.poll(() => queries().map(({ subject, state }) => ({ subject, state }))).toEqual([{ subject: '/x', state: 'queued' }]);
  given.abort();
  await expect(requested).rejects.toThrow('aborted');
});
