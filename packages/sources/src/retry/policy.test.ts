import { describe, expect, test } from 'vitest';
import { SourceError } from '../source-error.ts';
import type { Verdict } from '../verdict.ts';
import type { Failure } from './outcome.ts';
import { faultOf, policy, type CredentialState, type PolicyState, type Step } from './policy.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const credential: CredentialState = {
  isCorrected: false,
  refusals: 1,
  windowMs: 60_000,
  longestHoldMs: 25 * HOUR_MS,
  canReadSecret: false,
  hasClock: false,
  clockRefusals: 0,
};
const state: PolicyState = {
  about: { service: 'toy', credential: 'a', subject: '/x', status: 400 },
  epochMs: 0,
  redirects: 0,
  wasStale: false,
  wasMismatch: false,
  refusedBy: [],
  hasOther: false,
  time: { failures: 0, elapsedMs: 0, leftMs: 600_000 },
  delayMs: 250,
  afterFault: { kind: 'back off', isAtFault: false },
  credential,
};
const time = (leftMs: number) => ({ failures: 3, elapsedMs: 5_000, leftMs });
const outage = (ms: number, probedMs = 0) => ({ afterFault: { kind: 'wait', ms, retryInMs: 900, probedMs } }) as const;

const error = () => new SourceError({ code: 'HEADGATE_TOY', message: 'toy', retryable: false, service: 'toy' });
const answered = (verdict: Exclude<Verdict<unknown>, { readonly kind: 'ok' }>, status = 400): Failure => ({
  kind: 'answered',
  status,
  verdict,
  secret: 'secret',
});
const unsent = (verdict: Extract<Failure, { kind: 'unsent' }>['verdict'], isAwaitingSecret = false): Failure => ({
  kind: 'unsent',
  verdict,
  isAwaitingSecret,
  secret: undefined,
});
const transient = (retryInMs?: number, status = 500) => answered({ kind: 'transient', reason: 'no', retryInMs }, status);
const limited = (retryInMs?: number) => answered({ kind: 'rate-limited', reason: 'no', retryInMs });
const clock = (offsetMs: number) => answered({ kind: 'clock-wrong', offsetMs, error: error() });
const lost = (isStale: boolean): Failure => ({ kind: 'lost', reason: 'no', isStale });
const to = { url: 'https://toy/y', isGet: true };
const redirected: Failure = { kind: 'redirected', status: 301, to, error: error() };

type Given = Partial<Omit<PolicyState, 'credential'>> & { readonly credential?: Partial<CredentialState> };

/** Describes a step: what the query does, and what happens to the credential, if anything. */
function told({ outcome, next, credential: effect }: Step): string {
  const amount = 'ms' in effect ? ` ${effect.ms}` : 'offsetMs' in effect ? ` ${effect.offsetMs}` : '';
  const after = effect.kind === 'unchanged' ? '' : `; ${effect.kind}${amount}`;
  switch (next.kind) {
    case 'usable':
      return `${outcome}: ${String(next.value)}${after}`;
    case 'again':
      return `${outcome}: again${next.inMs > 0 ? ` in ${next.inMs}` : ''}${next.to === undefined ? '' : ` to ${next.to.url}`}${after}`;
    case 'wait':
      return `${outcome}: wait ${next.ms}${next.isUntilUp ? `, until up, in ${next.inMs}` : ''}${after}`;
    case 'reject':
      return `${outcome}: ${next.error.code}${after}`;
  }
}

describe.each<[what: string, rows: readonly (readonly [failure: Failure, given: Given, step: string])[]]>([
  [
    'a fault',
    [
      [{ kind: 'unreached', reason: 'no' }, {}, 'transient: wait 250'],
      [{ kind: 'unreadable', reason: 'no', status: 200 }, {}, 'transient: wait 250'],
      [lost(false), {}, 'transient: wait 250'],
      [transient(), {}, 'transient: wait 250'],
      [transient(9_000), {}, 'transient: wait 9000'],
      [transient(100), {}, 'transient: wait 250'],
      [transient(NaN), {}, 'transient: wait 250'],
      [transient(), { time: time(100) }, 'transient: wait 100'],
      [transient(100), { time: time(100) }, 'transient: wait 100'],
      [transient(101), { time: time(100) }, 'transient: HEADGATE_GAVE_UP'],
      [transient(), { time: time(0) }, 'transient: HEADGATE_GAVE_UP'],
      [transient(), { time: time(-1) }, 'transient: HEADGATE_GAVE_UP'],
      [unsent({ kind: 'transient', reason: 'no', retryInMs: 9_000 }), {}, 'transient: wait 9000'],
    ],
  ],
  [
    'a fault of a request that fails alone',
    [
      [transient(101), { time: time(100), afterFault: { kind: 'back off', isAtFault: true } }, 'transient: wait 100'],
      [transient(90_000), { afterFault: { kind: 'back off', isAtFault: true } }, 'transient: wait 90000'],
      [transient(101), { time: time(0), afterFault: { kind: 'back off', isAtFault: true } }, 'transient: HEADGATE_GAVE_UP'],
    ],
  ],
  [
    'a fault in an outage',
    [
      [transient(101), outage(7_000), 'transient: wait 7000, until up, in 900'],
      [transient(101), { ...outage(0), time: time(-1) }, 'transient: wait 0, until up, in 900'],
      [transient(101), { ...outage(0, 99), time: time(100) }, 'transient: wait 0, until up, in 900'],
      [transient(101), { ...outage(0, 100), time: time(100) }, 'transient: HEADGATE_GAVE_UP'],
    ],
  ],
  [
    'a loss on a connection that had been idle',
    [
      [lost(true), {}, 'transient: again'],
      [lost(true), { time: time(-1) }, 'transient: again'],
      [lost(true), { wasStale: true }, 'transient: wait 250'],
    ],
  ],
  ['a missing secret', [[unsent({ kind: 'transient', reason: 'no' }, true), { time: time(-1) }, 'transient: wait 5000']]],
  [
    'a redirect',
    [
      [redirected, { redirects: 4 }, 'transient: again to https://toy/y; accepted'],
      [redirected, { redirects: 5 }, 'fatal: HEADGATE_TOY; accepted'],
    ],
  ],
  [
    'a refusal because of a rate limit',
    [
      ...[60_000, 120_000, 240_000, 480_000, 900_000, 900_000].map(
        (ms, i) => [limited(), { credential: { refusals: i + 1 } }, `rate-limited: again in ${ms}; hold ${ms}`] as const,
      ),
      [limited(5_000), { credential: { refusals: 9 } }, 'rate-limited: again in 5000; hold 5000'],
      [limited(0), {}, 'rate-limited: again in 1000; hold 1000'],
      [limited(-5), { credential: { windowMs: 200 } }, 'rate-limited: again in 200; hold 200'],
      [limited(25 * HOUR_MS), {}, `rate-limited: again in ${25 * HOUR_MS}; hold ${25 * HOUR_MS}`],
      [limited(25 * HOUR_MS + 1), {}, 'rate-limited: again; retire'],
      [limited(400 * DAY_MS), {}, 'rate-limited: again; retire'],
      // A reset that is years away is ignored.
      [limited(400 * DAY_MS + 1), {}, 'rate-limited: again in 60000; hold 60000'],
      [limited(Infinity), {}, 'rate-limited: again in 60000; hold 60000'],
      [limited(NaN), {}, 'rate-limited: again in 60000; hold 60000'],
    ],
  ],
  [
    'a response of another form',
    [
      [answered({ kind: 'schema-mismatch', where: 'ids' }), {}, 'transient: wait 250'],
      [answered({ kind: 'schema-mismatch', where: 'ids' }), { time: time(100) }, 'transient: wait 100'],
      [answered({ kind: 'schema-mismatch', where: 'ids' }), { time: time(0) }, 'fatal: HEADGATE_UNFIT_ANSWER'],
      [answered({ kind: 'schema-mismatch', where: 'ids' }), { wasMismatch: true }, 'fatal: HEADGATE_UNFIT_ANSWER'],
      [answered({ kind: 'schema-mismatch', where: 'ids', value: 'part' }), {}, 'transient: wait 250'],
      [answered({ kind: 'schema-mismatch', where: 'ids', value: 'part' }), { wasMismatch: true }, 'ok: part; accepted'],
    ],
  ],
  [
    'a refusal of the credential',
    [
      [answered({ kind: 'unauthorized', error: error() }), {}, 'unauthorized: again; retire'],
      [answered({ kind: 'unauthorized', error: error() }), { credential: { canReadSecret: true } }, 'unauthorized: again; read secret'],
      [answered({ kind: 'unauthorized', error: error() }), { credential: { isCorrected: true } }, 'unauthorized: again'],
      [unsent({ kind: 'unauthorized', error: error() }), {}, 'unauthorized: again; retire'],
    ],
  ],
  [
    'a refusal because of the clock',
    [
      [clock(5_000), {}, 'unauthorized: again; retire'],
      [clock(5_000), { credential: { canReadSecret: true } }, 'unauthorized: again; read secret'],
      [clock(5_000), { credential: { hasClock: true } }, 'transient: again; set clock 5000'],
      [clock(-DAY_MS), { credential: { hasClock: true, clockRefusals: 2 } }, `transient: again; set clock -${DAY_MS}`],
      [clock(DAY_MS + 1), { credential: { hasClock: true } }, 'transient: again; set clock undefined'],
      [clock(5_000), { credential: { hasClock: true, clockRefusals: 3 } }, 'unauthorized: again; retire'],
      [clock(NaN), { credential: { hasClock: true } }, 'unauthorized: again; retire'],
      [clock(5_000), { credential: { hasClock: true, clockRefusals: 3, isCorrected: true } }, 'transient: again'],
    ],
  ],
  [
    'a refusal of the request',
    [
      [answered({ kind: 'ambiguous', error: error() }), { hasOther: true }, 'ambiguous: HEADGATE_TOY'],
      [answered({ kind: 'not-found', error: error() }), { hasOther: true }, 'gone: HEADGATE_TOY; accepted'],
      [answered({ kind: 'fatal', error: error() }), { hasOther: true }, 'fatal: HEADGATE_TOY; accepted'],
      [unsent({ kind: 'fatal', error: error() }), {}, 'fatal: HEADGATE_TOY; accepted'],
      [answered({ kind: 'not-found', error: error(), perCredential: true }), {}, 'gone: HEADGATE_TOY; passed over'],
      [answered({ kind: 'fatal', error: error(), perCredential: true }), { hasOther: true }, 'unauthorized: again; passed over'],
    ],
  ],
])('%s', (_, rows) => {
  test.each(rows.map((row) => [row[2], row[0], row[1]] as const))('%s', (step, failure, given) => {
    expect(told(policy({ ...state, ...given, credential: { ...credential, ...given.credential } }, failure))).toBe(step);
  });
});

describe('the fault of the service that a failure may show', () => {
  test.each<[Failure, string | undefined]>([
    [{ kind: 'unreached', reason: 'no' }, 'unreached'],
    [lost(false), 'down'],
    [lost(true), undefined],
    [{ kind: 'unreadable', reason: 'no', status: undefined }, 'unreadable'],
    [{ kind: 'unreadable', reason: 'no', status: 200 }, 'unreadable'],
    [{ kind: 'unreadable', reason: 'no', status: 503 }, 'down'],
    ...[502, 503, 504, 520].map((status): [Failure, string] => [transient(9, status), 'down']),
    ...[200, 500, 501, 505, 519].map((status): [Failure, string] => [transient(9, status), 'unusable']),
    [limited(), undefined],
    [redirected, undefined],
    [unsent({ kind: 'transient', reason: 'no' }), 'unreached'],
    [unsent({ kind: 'transient', reason: 'no' }, true), undefined],
    [unsent({ kind: 'fatal', error: error() }), undefined],
  ])('of %j is %s', (failure, kind) => {
    expect(faultOf(failure, false)?.kind).toBe(kind);
  });

  test('names the wait that the service requests, if it is a number', () => {
    expect([transient(9), transient(), transient(NaN)].map((one) => faultOf(one, false)?.retryInMs)).toEqual([9, undefined, undefined]);
    expect(faultOf(lost(true), true)?.kind).toBe('down');
  });
});

describe('errors say', () => {
  const messageOf = (failure: Failure, given: Given): string => {
    const { next } = policy({ ...state, ...given, credential: { ...credential, ...given.credential } }, failure);
    return next.kind === 'reject' ? next.error.message : 'reason' in next ? next.reason : '';
  };

  test.each<[Failure, Given, string]>([
    [
      transient(),
      { time: { failures: 0, elapsedMs: 0, leftMs: 0 } },
      '/x: gave up after 1 attempt: no. Retry later, or allow more time (retryFor; in code retryForMs). If the service keeps responding so, report it to the service.',
    ],
    [
      transient(9_000, 503),
      { time: time(4_000) },
      '/x: gave up after 4 attempts over 5 s: no. The service asks for a wait of 9 s, but only 4 s are left. Retry after that, or allow more time (retryFor; in code retryForMs).',
    ],
    [
      transient(9_000, 503),
      { time: time(-1), afterFault: { kind: 'back off', isAtFault: true } },
      '/x: gave up after 4 attempts over 5 s: no. The service asks for a wait of 9 s, but only 0 s are left. Retry after that, or allow more time (retryFor; in code retryForMs).',
    ],
    [
      lost(false),
      { time: time(-1) },
      '/x: gave up after 4 attempts over 5 s: no. Retry later, or allow more time (retryFor; in code retryForMs).',
    ],
    [
      transient(0, 503),
      { ...outage(0, 2_000), time: time(2_000) },
      '/x: gave up after 4 attempts over 7 s: no. Retry later, or allow more time (retryFor; in code retryForMs).',
    ],
    [
      limited(2 * DAY_MS),
      {},
      "a: toy asks for a wait of 2 days, until 1970-01-03 00:00 UTC (no). Headgate doesn't use it until the next run: start it after that time. It is no longer used.",
    ],
    [
      clock(DAY_MS + 1_000),
      { credential: { hasClock: true, clockRefusals: 3 } },
      "toy The service's clock is 86,401 s ahead of ours in its last response: set this machine's clock. It is no longer used.",
    ],
    [
      clock(-5_000),
      { credential: { hasClock: true, clockRefusals: 3 } },
      "toy The service's clock is 5 s behind ours in its last response, and 3 corrections in a row didn't help. It is no longer used.",
    ],
    [
      answered({ kind: 'fatal', error: error(), perCredential: true }),
      { refusedBy: ['b', 'c'] },
      'toy Headgate requested it with each of b, c, a.',
    ],
    [
      answered({ kind: 'schema-mismatch', where: 'ids' }),
      { wasMismatch: true },
      "/x: the response (400) doesn't match the toy service: ids. A retry didn't help. Check baseUrl. If it is right, compare the response with the documentation of the service, which may have changed.",
    ],
  ])('%#: what happened, and what to do', (failure, given, message) => {
    expect(messageOf(failure, given)).toBe(message);
  });
});
