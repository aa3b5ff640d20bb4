import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import type { Clock } from '@headgate/throttle';
import type { TopicLog } from '@headgate/topics';
import type { Pipeline } from '../definition/pipeline.ts';
import type { RunEvent } from '../events/events.ts';
import { laneName, lanesOf, requestsTopic, stateTopic, topicNames } from '../topics/names.ts';
import { type PipelineLeft, leftToDo } from '../run/left-to-do.ts';
import { DEAD_LETTERS } from '../topics/dead-letter.ts';
import { type Running, type RunResult, type StartOptions, start } from '../run/start.ts';
import type { TopicNames } from '../topics/topic.ts';
import { topicSpecs } from '../topics/topics.ts';

/** The records of a run: by topic and key, the texts of the records in order. */
export type Written = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

export interface DeadLetter {
  readonly key: string | null;
  readonly request: unknown;
  readonly error: { readonly code: string; readonly message: string };
}

/** The topics and the group of one check, and the steps that checks take. */
export interface Scene extends AsyncDisposable {
  readonly log: TopicLog;
  readonly group: string;
  readonly names: TopicNames;
  /** Appends values to the requests topic as another client does. */
  put(values: readonly (string | null)[]): Promise<void>;
  /** Appends valid requests. */
  request(requests: readonly unknown[]): Promise<void>;
  start(options?: Partial<StartOptions>): Promise<Running>;
  /** Runs the pipeline, and asserts that the run succeeds. */
  run(options?: Partial<StartOptions>): Promise<RunResult>;
  written(): Promise<Written>;
  deadLetters(): Promise<readonly DeadLetter[]>;
  left(): Promise<PipelineLeft>;
  /** Takes and releases this number of lanes, one after another. Throws if one is held. */
  takeLanes(lanes: number): Promise<void>;
}

export interface SceneOptions {
  readonly openLog: () => Promise<TopicLog>;
  readonly pipeline: Pipeline;
  /** Number of lanes of the run. Default 1. */
  readonly lanes?: number;
}

export async function openScene({ openLog, pipeline, lanes = 1 }: SceneOptions): Promise<Scene> {
  const id = randomBytes(6).toString('hex');
  const prefix = `contract-${id}.`;
  const group = `contract-${id}`;
  const names = topicNames({ prefix });
  const log = await openLog();
  const { name } = pipeline;
  const requests = requestsTopic(pipeline, names);
  const begin = async (options: Partial<StartOptions> = {}): Promise<Running> =>
    await start({ log, pipelines: [pipeline], group, lanes, topics: { prefix }, ...options });
  await log.createTopics(topicSpecs([pipeline], { lanes, names }));
  return {
    log,
    group,
    names,
    async put(values) {
      await log.append(values.map((value, i) => ({ topic: requests, key: String(i), value })));
    },
    async request(wanted) {
      await log.append(wanted.map((request) => ({ topic: requests, ...pipeline.requests.keyed(request) })));
    },
    start: begin,
    async run(options) {
      await using running = await begin(options);
      const result = await running.done;
      assert.deepEqual({ outcome: result.outcome, failures: result.failures }, { outcome: 'done', failures: [] });
      return result;
    },
    async written() {
      // Replace each request's offset with its rank, because transaction markers shift the offsets after them.
      const ranks = new Map<string, number>();
      const counts = new Map<number, number>();
      for await (const { partition, offset } of log.readBytes({ topic: requests })) {
        const rank = counts.get(partition) ?? 0;
        counts.set(partition, rank + 1);
        ranks.set(`${partition}-${offset}`, rank);
      }
      const ranked = (text: string): string =>
        text.replaceAll(/\.requests-(\d+)-(\d+)/g, (_, partition: string, offset: string) => {
          return `.requests-${partition}-${ranks.get(`${partition}-${offset}`) ?? `offset ${offset}`}`;
        });
      const topics = Object.keys(pipeline.topics).map(async (topic) => {
        const byKey: Record<string, string[]> = {};
        const ids = new Set<string>();
        for await (const { key, value, headers } of log.readBytes({ topic: names(`${name}.${topic}`) })) {
          const id = textOf(headers['ce_id']);
          if (id !== '') assert.ok(!ids.has(id), `${topic}: two records have the id ${id}`);
          ids.add(id);
          (byKey[textOf(key)] ??= []).push(ranked(`${textOf(value)} ${id}`.replaceAll(prefix, '')));
        }
        return [topic, byKey] as const;
      });
      return Object.fromEntries(await Promise.all(topics));
    },
    async deadLetters() {
      const found: DeadLetter[] = [];
      for await (const { key, value } of log.read({ topic: names(`${name}.${DEAD_LETTERS}`) })) {
        const deadLetter = JSON.parse(value ?? 'null') as Omit<DeadLetter, 'key'> & { readonly at: string };
        assert.ok(!Number.isNaN(Date.parse(deadLetter.at)), `invalid time in a dead letter: ${deadLetter.at}`);
        found.push({ ...deadLetter, key });
      }
      return found;
    },
    async left() {
      const clock: Clock = { monotonicMs: () => performance.now(), epochMs: () => Date.now(), schedule: () => () => undefined };
      const [left] = await leftToDo({ log, pipelines: [pipeline], group, lanes, names, clock, env: process.env });
      assert.ok(left !== undefined);
      return left;
    },
    async takeLanes(of) {
      for (let partition = 0; partition < lanesOf(pipeline, of); partition += 1) {
        const state = { topic: stateTopic(pipeline, names), partition };
        await (await log.openLane({ name: laneName(group, requests, partition), state, onlyIfFree: true })).close();
      }
    },
    [Symbol.asyncDispose]: () => log.close(),
  };
}

/** Returns text, or binary data with one character per byte. */
function textOf(bytes: Uint8Array | null | undefined): string {
  const buffer = Buffer.from(bytes ?? []);
  return isUtf8(buffer) ? buffer.toString() : buffer.toString('latin1');
}

/** Number of records of all keys, by topic. */
export function countsOf(written: Written): Record<string, number> {
  return Object.fromEntries(
    Object.entries(written).map(([topic, byKey]) => [topic, Object.values(byKey).reduce((sum, texts) => sum + texts.length, 0)]),
  );
}

/** Returns the records without the offsets of the requests in their IDs. */
export function withoutOffsets(written: Written): unknown {
  return JSON.parse(JSON.stringify(written).replaceAll(/\.requests-\d+-\d+/g, '.requests'));
}

/** True for an event that reports something durable. */
export function isProgress({ type }: RunEvent): boolean {
  return type === 'page-written' || type === 'keys-answered' || type === 'request-failed';
}
