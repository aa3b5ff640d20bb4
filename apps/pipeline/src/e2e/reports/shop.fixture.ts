import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RestSection, rest } from '@headgate/rest';
import {
  type Answer,
  type Arrival,
  type LoggingService,
  type SteppedClock,
  type SteppedRun,
  type SteppedRunOptions,
  loggingService,
  steppedClock,
  steppedRun,
} from './stepped-run.fixture.ts';

type Section = Parameters<RestSection>[0];

export interface ShopOptions extends Partial<Omit<Section, 'streams' | 'baseUrl'>> {
  readonly streams: Section['streams'];
  /** `number`: of the request, from 1. `url`: address of the service. */
  readonly answer: (arrival: Arrival, number: number, url: string) => Answer;
}

/** A section `shop` over a service of a test, with one log for all its runs. */
export interface Shop extends AsyncDisposable {
  readonly clock: SteppedClock;
  readonly service: LoggingService;
  /** The requests so far, as path and query. */
  asked(): readonly string[];
  /** Works the section. `again`: lists it anew. `replay`: replays the dead letters first. */
  run(options?: Pick<SteppedRunOptions, 'again' | 'replay' | 'follow' | 'stopAfterMs'>): Promise<SteppedRun>;
}

export async function shop({ answer, ...section }: ShopOptions): Promise<Shop> {
  const clock = steppedClock(Date.parse('2026-02-01T00:00:00Z'));
  const folder = await mkdtemp(join(tmpdir(), 'headgate-shop-'));
  const service = await loggingService({ clock, answer: (arrival, number) => answer(arrival, number, service.url) });
  const { streams, credentials = [{ name: 'anyone' }], ...more } = section;
  const pipeline = rest('shop')({ baseUrl: service.url, credentials, limit: { requests: 100, window: '1s' }, streams, ...more });
  return {
    clock,
    service,
    asked: () => service.arrivals.map(({ path, query }) => (query.size === 0 ? path : `${path}?${decodeURIComponent(String(query))}`)),
    run: (options = {}) => steppedRun({ clock, services: [service], pipelines: [pipeline], folder, ...options }),
    async [Symbol.asyncDispose]() {
      await service[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The IDs in a topic, in order. */
export function idsIn(run: SteppedRun, topic: string): unknown[] {
  return run.records(topic).map(({ value }) => (value as { readonly id: unknown }).id);
}

/** The texts that a run shows: its events, its dead letters and its failures. */
export function textsOf(run: SteppedRun): string {
  return JSON.stringify([
    run.events.map((event) => ('message' in event ? event.message : event.type)),
    run.deadLetters('shop'),
    run.failures,
  ]);
}

export const range = (count: number, first = 1): number[] => Array.from({ length: count }, (_, i) => first + i);
export const rows = (ids: readonly (number | string)[]): { readonly id: number | string }[] => ids.map((id) => ({ id }));
