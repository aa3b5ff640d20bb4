import fc from 'fast-check';
import { SPELLINGS } from './spelled-secrets.fixture.ts';

/** How a hostile service answers one request. `spelling` is the index in `SPELLINGS` of the notation in which an answer repeats the secret. */
export type HostileAnswer =
  | { readonly kind: 'good' }
  | { readonly kind: 'status'; readonly status: number; readonly body: BodyKind; readonly wait: WaitKind; readonly spelling: number }
  | { readonly kind: 'body'; readonly body: BodyKind; readonly spelling: number }
  /** The good answer, changed in one place. */
  | { readonly kind: 'odd'; readonly field: number; readonly value: OddValue; readonly spelling: number }
  | { readonly kind: 'huge'; readonly how: (typeof HUGE)[number] }
  | { readonly kind: 'cut'; readonly at: number }
  | { readonly kind: 'late'; readonly afterMs: number }
  | { readonly kind: 'header'; readonly name: (typeof HEADERS)[number]; readonly spelling: number }
  | { readonly kind: (typeof BARE)[number] };

const BARE = ['reset', 'silent', 'stalled', 'hints', 'no-http', 'compressed-badly', 'empty'] as const;
const HUGE = ['spaces', 'items', 'gzip', 'header'] as const;
const HEADERS = [
  'location',
  'retry-after',
  'content-type',
  'content-encoding',
  'date',
  'x-rate-limit-reset',
  'ratelimit',
  'www-authenticate',
] as const;

const BODIES = [
  'good',
  'none',
  'html',
  'words',
  'errors',
  'error',
  'message',
  'limit',
  'not found',
  'null',
  'number',
  'list',
  'text',
  'deep',
  'no utf-8',
  'cut',
  'keys',
] as const;
export type BodyKind = (typeof BODIES)[number];

const VALUES = [
  'null',
  'missing',
  'empty text',
  'secret',
  'object',
  'list',
  'true',
  'fraction',
  'negative',
  'wide',
  'first',
  'repeated',
  'shorter',
] as const;
export type OddValue = (typeof VALUES)[number];

export type WaitKind =
  | { readonly kind: 'none' | 'past' | 'garbage' | 'negative' }
  | { readonly kind: 'seconds' | 'date'; readonly seconds: number };

/** Waits of less than a day. */
const wait: fc.Arbitrary<WaitKind> = fc.oneof(
  fc.record({ kind: fc.constantFrom('none', 'past', 'garbage', 'negative') }),
  fc.record({ kind: fc.constantFrom('seconds', 'date'), seconds: fc.constantFrom(0, 1, 30, 300, 80_000) }),
);
const spelling = fc.nat({ max: SPELLINGS.length - 1 });
const body = fc.constantFrom(...BODIES);
const STATUSES = [
  200, 201, 204, 206, 301, 302, 304, 307, 400, 401, 403, 404, 408, 410, 413, 418, 420, 422, 425, 429, 451, 500, 502, 503, 504, 599,
];

/** About a quarter of these statuses are 429, which refuses a request because of the rate limit. */
const status = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...STATUSES) }, { weight: 1, arbitrary: fc.constant(429) });

export const hostileAnswer: fc.Arbitrary<HostileAnswer> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ kind: 'good' as const }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('status' as const), status, body, wait, spelling }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('body' as const), body, spelling }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('odd' as const), field: fc.nat({ max: 6 }), value: fc.constantFrom(...VALUES), spelling }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('huge' as const), how: fc.constantFrom(...HUGE) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cut' as const), at: fc.nat({ max: 200 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('late' as const), afterMs: fc.constantFrom(10, 2_000, 29_000) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('header' as const), name: fc.constantFrom(...HEADERS), spelling }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom(...BARE) }) },
);
