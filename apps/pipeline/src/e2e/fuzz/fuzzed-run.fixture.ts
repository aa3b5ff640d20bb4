import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { type Pipeline, type RunEvent, type Running, start } from '@headgate/pipeline';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { eventText } from '../../status/format-event.ts';
import type { HostileService } from './hostile-service.fixture.ts';
import { memoryPeak } from './memory.fixture.ts';
import { secretFinder } from './spelled-secrets.fixture.ts';

export interface FuzzedRecord {
  readonly topic: string;
  readonly key: string | null;
  readonly value: Readonly<Record<string, unknown>>;
}

export interface FuzzedRunOptions {
  readonly service: HostileService;
  readonly pipeline: () => Pipeline;
  readonly topics: readonly string[];
  /** Jobs to add, in addition to the pipeline's lists. */
  readonly enqueue: readonly unknown[];
  readonly secrets: readonly string[];
  /** Numbers of the requests at which the run is stopped. Another run then continues. */
  readonly stops: readonly number[];
  /** Maximum number of requests that are refused or fail before all others succeed. */
  readonly answers: number;
  /** Maximum requests per window for each credential. */
  readonly limit: number;
  readonly windowMs: number;
}

/** Maximum growth of the memory in use. */
const MAX_BYTES = 256 * 2 ** 20;
const HANGS_AFTER_MS = 120_000;
/** Maximum time on the service's clock for responses that are still missing when a run is stopped. */
const WRITTEN_WITHIN_MS = 8_000;

/** Runs a pipeline until a run finds nothing to do. Returns the written records. Throws if a run hangs, shows a secret, or exceeds a limit. */
export async function fuzzedRun(options: FuzzedRunOptions): Promise<readonly FuzzedRecord[]> {
  const { service, pipeline, topics, enqueue, secrets, stops, answers, limit, windowMs } = options;
  const { clock } = service;
  const folder = await mkdtemp(join(tmpdir(), 'headgate-fuzz-'));
  const log = await sqliteTopicLog({ file: join(folder, 'log.db'), now: () => clock.epochMs() });
  const told: string[] = [];
  let running: Running | undefined;
  let written = new AbortController();
  service.onRequest = (count) => {
    if (!stops.includes(count)) return;
    const current = written;
    clock.schedule(WRITTEN_WITHIN_MS, () => current.abort());
    void running?.stop();
  };
  // No time limit for closing: the clock may skip it while a slow disk still releases a lane, and the next run would find the lane held.
  const closed = new AbortController().signal;
  const onEvent = (event: RunEvent): void => {
    told.push(JSON.stringify(event), eventText(event, {}).words);
  };
  const once = async (first: boolean): Promise<boolean> => {
    const asked = service.requests.length;
    const one = pipeline();
    written = new AbortController();
    const deadline = { written: written.signal, closed };
    running = await start({ log, pipelines: [one], validate: true, clock, env: {}, onEvent, deadline });
    if (first && enqueue.length > 0) await running.enqueue(one.name, enqueue);
    const { outcome, failures, snapshot } = await running.done;
    told.push(JSON.stringify(snapshot), ...failures.map((failure) => inspect(failure, { depth: 10 })));
    return outcome === 'done' && service.requests.length === asked;
  };
  using memory = memoryPeak(MAX_BYTES);
  try {
    const runs = answers + stops.length + 3;
    let done = false;
    for (let run = 0; run < runs && !done; run += 1) done = await withinReason(once(run === 0), told);
    if (!done) throw new Error(`${runs} runs, and there is still something to do:\n${told.slice(-20).join('\n')}`);

    const records: FuzzedRecord[] = [];
    for (const topic of topics) {
      for await (const { key, value, headers } of log.read({ topic })) {
        const { record, ...own } = JSON.parse(value ?? '{}') as FuzzedRecord['value'];
        // `record` isn't searched for secrets, because it is what the service sent, and the service may have repeated a secret in it.
        told.push(JSON.stringify({ key, value: own, headers }));
        records.push({ topic, key, value: { ...own, record } });
      }
    }
    const shown = secretFinder(secrets)(told.join('\n'));
    if (shown !== undefined) throw new Error(`a secret is told, ${shown}`);
    if (memory.growth > MAX_BYTES) throw new Error(`the memory in use grew by ${memory.growth} bytes`);
    overruns(service, { limit, windowMs });
    return records;
  } finally {
    await running?.stop();
    await log.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function withinReason<T>(work: Promise<T>, told: readonly string[]): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`the run hangs:\n${told.slice(-20).join('\n')}`)), HANGS_AFTER_MS);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Throws if a window had more requests than the limit allows, or if a request was repeated before its Retry-After was over. */
function overruns({ requests, waits }: HostileService, { limit, windowMs }: { readonly limit: number; readonly windowMs: number }): void {
  for (const credential of new Set(requests.map((request) => request.credential))) {
    const own = requests.filter((request) => request.credential === credential).map(({ at }) => at);
    for (const [i, at] of own.entries()) {
      const before = own[i - limit] ?? -Infinity;
      if (at - before < windowMs) throw new Error(`${limit + 1} requests within ${at - before} ms of ${windowMs}`);
    }
  }
  for (const { credential, url, until, after } of waits) {
    const again = requests.slice(after).find((request) => request.credential === credential && request.url === url);
    // All batches go to the same address, so this request can belong to another batch that was in flight.
    if (again !== undefined && again.at < until && !url.endsWith('/books')) {
      throw new Error(`asked again ${until - again.at} ms before a Retry-After is over`);
    }
  }
}
