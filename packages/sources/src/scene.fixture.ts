import { bearer } from '@headgate/auth';
import { creditPool, type CreditPool, type Delivery } from '@headgate/throttle';
import { type VirtualClock, virtualClock } from '@headgate/throttle/testing';
import { expect, onTestFinished } from 'vitest';
import { defineSource } from './define-source.ts';
import type { HttpResponse } from './http/response.ts';
import type { ClassifyContext, SourceDefinition } from './source-definition.ts';
import { SourceError } from './source-error.ts';
import type { AttemptEvent, Limit, SourceOptions } from './source-options.ts';
import type { Source } from './source.ts';
import { whole } from './testing/responses.ts';
import { type Respond, scriptedServer, type ScriptedServer } from './testing/scripted-server.ts';
import type { Verdict } from './verdict.ts';

export const MINUTE_MS = 60_000;
export const ok: Respond = whole('"good"');

export interface Scene {
  readonly server: ScriptedServer;
  readonly source: Source<string, string>;
  readonly clock: VirtualClock;
  readonly credits: CreditPool;
  readonly events: readonly AttemptEvent[];
  readonly contexts: readonly ClassifyContext<string>[];
  readonly query: (path?: string, signal?: AbortSignal) => Promise<Delivery<string>>;
  /** Resolves when the server has received this many requests. */
  requests(count: number): Promise<void>;
  /** Advances the virtual clock in steps until the promise has settled. */
  drive<T>(promise: Promise<T>, stepMs: number): Promise<T>;
}

/**
 * Opens a source in virtual time, at a server whose responses contain their own verdicts. After the test, no credit, query or timer may be
 * left.
 */
export async function play(
  script: readonly Respond[],
  options: Omit<Partial<SourceOptions>, 'limit'> & {
    readonly limit?: Limit | undefined;
    readonly otherwise?: Respond;
    readonly basePath?: string;
  } = {},
  definition: Partial<SourceDefinition<string, string>> = {},
): Promise<Scene> {
  const { otherwise = ok, basePath = '', limit: _, ...rest } = options;
  const limit = 'limit' in options ? options.limit : { requests: 100, windowMs: MINUTE_MS };
  const server = await scriptedServer({ script, otherwise });
  const clock = virtualClock();
  const events: AttemptEvent[] = [];
  const contexts: ClassifyContext<string>[] = [];
  const source = defineSource<string, string>({ ...toy(contexts), ...definition })({
    baseUrl: `${server.url}${basePath}`,
    credentials: [credential('a')],
    random: () => 0,
    env: {},
    clock,
    onAttempt: (event) => events.push(event),
    ...rest,
    ...(limit !== undefined && { limit }),
  });
  const credits = creditPool({ max: 20 });
  const given: Delivery<string>[] = [];
  onTestFinished(async () => {
    for (const { credit } of given) credit.release();
    expect(credits.outstanding, 'credit that is still held').toBe(0);
    expect(source.gauges().queries).toEqual([]);
    expect(clock.pending, 'timers that are left').toBe(0);
    await source.close();
    await server[Symbol.asyncDispose]();
  });
  return {
    server,
    source,
    clock,
    credits,
    events,
    contexts,
    async query(path = '/x', signal) {
      const delivery = await source.query(path, { credits, ...(signal !== undefined && { signal }) });
      given.push(delivery);
      return delivery;
    },
    async requests(count) {
      await expect.poll(() => server.requests.length).toBe(count);
    },
    async drive(promise, stepMs) {
      let settled = false;
      const settle = (): void => {
        settled = true;
      };
      promise.then(settle, settle);
      while (!settled) {
        const requests = server.requests.length;
        const ended = events.length;
        await clock.advance(stepMs);
        if (server.requests.length > requests || ended < requests) await expect.poll(() => events.length).toBeGreaterThanOrEqual(requests);
        await idle();
      }
      return promise;
    },
  };
}

export function toy(contexts: ClassifyContext<string>[]): Parameters<typeof defineSource<string, string>>[0] {
  return {
    service: 'toy',
    toRequest: (path) => ({ method: 'GET', path }),
    classify(answer, context) {
      contexts.push(context);
      return meant(answer, context);
    },
    subject: (path) => path,
    items: () => 10,
    itemsOf: ({ length }) => length,
    weights: (path) => ({ rate: path === '/costly' ? 101 : 1 }),
  };
}

function meant({ body, status }: HttpResponse, { query: subject, credential: name }: ClassifyContext<string>): Verdict<string> {
  const value = JSON.parse(body.toString()) as string | (Verdict<string> & { kind: 'transient' });
  if (typeof value === 'string') return { kind: 'ok', value };
  const error = new SourceError({
    code: 'HEADGATE_TOY',
    message: 'toy',
    retryable: false,
    service: 'toy',
    subject,
    credential: name,
    status,
  });
  const defaults: object = { reason: 'toy', offsetMs: 90_000 };
  return { ...defaults, ...value, error } as Verdict<string>;
}

export function said(kind: Verdict<string>['kind'], more: object = {}): Respond {
  return whole(JSON.stringify({ kind, ...more }));
}

export function credential(name: string): SourceOptions['credentials'][number] {
  return { name, signer: bearer(`token-of-${name}`) };
}

/** Waits a few ms of real time for the sockets. */
export function idle(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 3);
  });
}

export function thrown(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}
