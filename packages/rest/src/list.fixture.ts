import { start } from '@headgate/pipeline';
import { expect } from 'vitest';
import { type Api, type ApiOptions, startApi } from './api.fixture.ts';
import { rest } from './rest.ts';
import { sharedLog } from './shared-log.fixture.ts';

export type Section = Parameters<ReturnType<typeof rest>>[0];

export interface Listed {
  readonly records: Readonly<Record<string, readonly (readonly [key: string | null, value: unknown])[]>>;
  readonly deadLetters: readonly { readonly key: string; readonly code: string; readonly message: string }[];
  readonly notices: readonly string[];
  readonly api: Api;
}

interface ListOptions {
  /** Number of runs. Each run after the first adds the section's jobs again. Default: 1. */
  readonly runs?: number;
  /** Path appended to the address of the service. Default: none. */
  readonly path?: string;
  /** Whether a run can fail. Its errors are then added to `notices`. Default: false. */
  readonly mayFail?: boolean;
}

/** Runs a section against a service, and returns everything in its topics. */
type List = (
  section: Omit<Section, 'baseUrl'> & Partial<Pick<Section, 'baseUrl'>>,
  api: ApiOptions,
  options?: ListOptions,
) => Promise<Listed>;

/** Returns a `List` whose runs share the log of the test file. Call it outside of any test. */
export function lister(shareOfLog = sharedLog()): List {
  return async (section, options, { runs = 1, path = '', mayFail = false } = {}) => {
    const share = shareOfLog();
    await using api = await startApi(options);
    const pipeline = rest('api')({ baseUrl: api.url + path, ...section });
    const notices: string[] = [];
    for (let run = 0; run < runs; run += 1) {
      await using running = await start({ ...share, pipelines: [pipeline] });
      const heard = running.events.subscribe((event) => {
        if (event.type === 'notice') notices.push(event.message);
      });
      if (run > 0)
        await running.enqueue(
          'api',
          Array.from(pipeline.listed(), ({ value }) => JSON.parse(value) as never),
        );
      const { failures } = await running.done;
      heard.unsubscribe();
      if (mayFail) notices.push(...failures.map(String));
      else expect(failures).toEqual([]);
    }
    const read = async (topic: string) => await Array.fromAsync(share.log.read({ topic: `${share.topics.prefix}api.${topic}` }));
    const records: Record<string, [string | null, unknown][]> = {};
    for (const topic of Object.keys(pipeline.topics))
      records[topic] = (await read(topic)).map(({ key, value }) => [key, JSON.parse(value ?? 'null')]);
    const deadLetters = (await read('dead-letters')).map(({ key, value }) => ({
      key: key ?? '',
      ...(JSON.parse(value ?? '{}') as { error: { code: string; message: string } }).error,
    }));
    expect(api.refused()).toBe(0);
    return { records, deadLetters, notices, api };
  };
}

export const bearer = { credentials: [{ name: 'app', bearer: 'token' }], limit: { requests: 500, window: '100ms' } };

export function knowsBearer({ headers }: { readonly headers: Readonly<Record<string, unknown>> }): boolean {
  return headers['authorization'] === 'Bearer token';
}

export interface Item {
  readonly id: number;
  readonly updated_at: string;
}

/** Items that were changed one minute apart. */
export function some(count: number, first = 1): Item[] {
  return Array.from({ length: count }, (_, i) => ({
    id: first + i,
    updated_at: new Date(Date.UTC(2024, 0, 1, 0, first + i)).toISOString(),
  }));
}

export const pairs = (items: readonly { readonly id: number }[]): (readonly [string, object])[] =>
  items.map((item) => [String(item.id), item] as const);
