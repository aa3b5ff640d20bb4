import { creditPool, retryAfterMs } from '@headgate/throttle';
import { type VirtualClock, virtualClock } from '@headgate/throttle/testing';
import type { Dispatcher } from 'undici';
import { defineSource } from '../define-source.ts';
import { credential } from '../scene.fixture.ts';
import { SourceError } from '../source-error.ts';
import type { AttemptEvent, SourceOptions } from '../source-options.ts';

/** A response that can't be used. `cut`: a 200 whose body breaks off. `endless`: a 200 whose body never ends. */
export type Lie = 'cut' | 'endless' | 'html' | 'empty' | 'wrong type' | 'no http' | 'long headers' | 'bare 100';

/** The result of an attempt: a status, no response, or one that can't be used. */
export type Meets = number | 'refused' | 'reset' | 'silence' | Lie | { readonly status: number; readonly retryAfter: number };

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const LATENCY_MS = 20;

const BODIES: Partial<Record<Lie, string>> = { html: '<html>', empty: '', 'wrong type': '"text"' };

/** Errors of undici for responses that it can't read. */
const FAILURES: Partial<Record<Lie, Error>> = {
  'no http': Object.assign(new Error('Expected HTTP/, RTSP/ or ICE/'), { code: 'HPE_INVALID_CONSTANT' }),
  'long headers': Object.assign(new Error('Headers overflow'), { code: 'UND_ERR_HEADERS_OVERFLOW' }),
  'bare 100': Object.assign(new Error('bad response'), { code: 'UND_ERR_SOCKET' }),
};

interface ServiceOptions extends Partial<SourceOptions> {
  readonly meets: (path: string, nowMs: number, token: string) => Meets;
  readonly weights?: (path: string) => Readonly<Record<string, number>>;
  /** Ms that each read of the clock takes, as on a busy machine. */
  readonly lookMs?: number;
  /** Time until a response, in ms. Default: `LATENCY_MS`. */
  readonly latencyMs?: (path: string) => number;
}

export function service({ meets, weights, lookMs = 0, latencyMs = () => LATENCY_MS, ...options }: ServiceOptions) {
  const clock = virtualClock();
  let looked = 0;
  const attempts: { readonly path: string; readonly atMs: number; readonly meets: Meets; readonly isDown: boolean }[] = [];
  const events: AttemptEvent[] = [];
  let probing = 0;
  let mostProbing = 0;
  const dispatcher = {
    dispatch({ path, headers }: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) {
      const met = meets(path, clock.monotonicMs(), JSON.stringify(headers));
      const isDown = source.gauges().outage !== undefined;
      let isAborted = false;
      const controller = { abort: () => (isAborted = true) } as unknown as Dispatcher.DispatchController;
      if (met !== 'refused') handler.onRequestStart?.(controller, null);
      // An outage that began since the permit was granted stops the request.
      if (isAborted) return true;
      attempts.push({ path, atMs: clock.monotonicMs(), meets: met, isDown });
      if (isDown) mostProbing = Math.max(mostProbing, (probing += 1));
      clock.schedule(latencyMs(path), () => {
        if (isDown) probing -= 1;
        if (isAborted || met === 'silence') return;
        const body = BODIES[met as Lie];
        const failure = FAILURES[met as Lie];
        if (failure !== undefined) {
          handler.onResponseStarted?.();
          handler.onResponseError?.(controller, failure);
          return;
        }
        if (body !== undefined) {
          handler.onResponseStart?.(controller, 200, {}, '');
          handler.onResponseData?.(controller, Buffer.from(body));
          handler.onResponseEnd?.(controller, {});
          return;
        }
        if (met === 'cut' || met === 'endless') {
          handler.onResponseStart?.(controller, 200, {}, '');
          handler.onResponseData?.(controller, Buffer.from(path));
          if (met === 'cut') handler.onResponseError?.(controller, Object.assign(new Error(met), { code: 'ECONNRESET' }));
          return;
        }
        if (typeof met === 'string') {
          handler.onResponseError?.(controller, Object.assign(new Error(met), { code: met === 'refused' ? 'ECONNREFUSED' : 'ECONNRESET' }));
          return;
        }
        const { status, retryAfter } = typeof met === 'number' ? { status: met, retryAfter: undefined } : met;
        handler.onResponseStart?.(controller, status, retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }, '');
        handler.onResponseData?.(controller, Buffer.from(path));
        handler.onResponseEnd?.(controller, {});
      });
      return true;
    },
  } as unknown as Dispatcher;
  const source = defineSource<string, string>({
    service: 'toy',
    toRequest: (path) => ({ path }),
    classify({ status, headers, body }, { query, epochMs }) {
      const error = new SourceError({
        code: 'HEADGATE_TOY',
        message: `${status}`,
        retryable: false,
        service: 'toy',
        subject: query,
        status,
      });
      const text = body.toString();
      if (text === BODIES['wrong type']) return { kind: 'schema-mismatch', where: 'ids: expected a list, got text' };
      if (text === BODIES.html) return { kind: 'transient', reason: 'got HTML instead of JSON' };
      if (text === BODIES.empty) return { kind: 'transient', reason: 'got an empty body instead of JSON' };
      if (status === 200) return { kind: 'ok', value: text };
      if (status === 429) return { kind: 'rate-limited', reason: '429', retryInMs: 1_000 };
      if (status < 500) return { kind: 'not-found', error };
      return { kind: 'transient', reason: `status ${status}`, retryInMs: retryAfterMs({ headers, epochMs }) };
    },
    subject: (path) => path,
    items: () => 1,
    itemsOf: () => 1,
    ...(weights !== undefined && { weights }),
  })({
    baseUrl: 'http://service.invalid',
    credentials: [credential('a')],
    ...(options.budgets === undefined && { limit: { requests: 1_000, windowMs: 1_000 } }),
    env: {},
    clock: { ...clock, monotonicMs: () => clock.monotonicMs() + (looked += lookMs) },
    dispatcher,
    random: () => 0.5,
    maxDelayMs: 0,
    retryForMs: 10 * MINUTE_MS,
    waitOutOutages: true,
    onAttempt: (event) => events.push(event),
    ...options,
  });
  const credits = creditPool({ max: 1_000 });
  const ended = new Map<string, { readonly atMs: number; readonly how: string }>();
  const errors: SourceError[] = [];
  const query = (path: string, signal?: AbortSignal, walk?: object): void => {
    const end = (how: string): void => void ended.set(path, { atMs: clock.monotonicMs(), how });
    source.query(path, { credits, ...(signal !== undefined && { signal }), ...(walk !== undefined && { walk }) }).then(
      ({ credit }) => {
        credit.release();
        end('answered');
      },
      (error: unknown) => {
        if (error instanceof SourceError) errors.push(error);
        end(error instanceof SourceError ? error.code : String(error));
      },
    );
  };
  const count = (how: string): number => [...ended.values()].filter((one) => one.how === how).length;
  return { clock, source, attempts, events, ended, errors, query, count, mostProbing: () => mostProbing };
}

export function paths(count: number, name = 'good'): string[] {
  return Array.from({ length: count }, (_, i) => `/${name}/${i}`);
}

export async function until(
  clock: VirtualClock,
  isOver: () => boolean,
  { stepMs = 1_000, atMostMs = 24 * 60 * MINUTE_MS } = {},
): Promise<void> {
  const end = clock.monotonicMs() + atMostMs;
  while (!isOver() && clock.monotonicMs() < end) await clock.advance(stepMs);
}
