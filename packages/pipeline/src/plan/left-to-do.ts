import { type Clock, type Json, creditPool } from '@headgate/throttle';
import { type ReadOptions, type TopicLog, type TopicRecord, partitionForKey } from '@headgate/topics';
import type { OpenedPipeline, Pipeline } from '../define-pipeline.ts';
import { type JournalRecord, journalRecords } from '../lane/lane-journal.ts';
import { STATE_KEYS, laneState } from '../lane/lane-state.ts';
import { type OffsetRangesSnapshot, offsetRanges } from '../lane/offset-ranges.ts';
import { GROUP_STATE, lanesOf, requestsTopic, stateTopic } from '../names.ts';
import { listedAndDue } from '../requests/request-list.ts';
import { requestsInOrder } from '../requests/requests-in-order.ts';
import type { TopicNames } from '../topic.ts';

/** A log to look at; topics and partitions that are not there yet read as empty. */
export interface LogView extends Pick<TopicLog, 'readState'> {
  readBytes(options: ReadOptions): AsyncIterable<TopicRecord<Uint8Array>>;
}

export interface LeftToDoOptions {
  readonly log: LogView;
  readonly pipelines: readonly Pipeline[];
  readonly group: string;
  readonly lanes: number;
  readonly names: TopicNames;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What a run of a pipeline would find to do. */
export interface PipelineLeft {
  readonly pipeline: string;
  readonly walks: readonly WalkLeft[];
  /** Keys of lookups without an answer. */
  readonly keys: number;
  /** Pieces of work behind walks that were begun: they need no HTTP request. */
  readonly after: number;
  /** How budgets stood in the lanes' journals. */
  readonly journals: readonly JournalRecord[];
}

export interface WalkLeft {
  readonly key: string;
  /** The request, JSON. */
  readonly request: string;
  /** The next page, 1-based: above 1 a walk goes on there. */
  readonly page: number;
  /** The checkpoint it goes on at; undefined at the start. */
  readonly from: Json | undefined;
  /** Its request's partition: only that lane's credentials ask for it. */
  readonly lane: number;
  /** Pages it will have in all, as far as its definition knows; by default those of the key's last whole walk. */
  readonly pages?: number;
}

/** Reads what is unfinished without taking a lane: it may be looked at while a run goes on. */
export async function leftToDo(options: LeftToDoOptions): Promise<readonly PipelineLeft[]> {
  const state = await options.log.readState(options.names(GROUP_STATE), 0);
  const listed = Map.groupBy(listedAndDue({ ...options, state }), ({ pipeline }) => pipeline);
  const all = options.pipelines.map(async (pipeline) => await leftOf(options, pipeline, listed.get(pipeline.name) ?? []));
  return await Promise.all(all);
}

async function leftOf(
  { log, group, lanes: asked, names, clock, env }: LeftToDoOptions,
  pipeline: Pipeline,
  listed: readonly { readonly request: { readonly key: string; readonly value: string } }[],
): Promise<PipelineLeft> {
  const lanes = lanesOf(pipeline, asked);
  const walks: WalkLeft[] = [];
  const journals: JournalRecord[] = [];
  let keys = 0;
  let after = 0;
  const opened = openToLook(pipeline, { clock, env, lanes });
  try {
    for (let lane = 0; lane < lanes; lane += 1) {
      const state = laneState(group, await log.readState(stateTopic(pipeline, names), lane));
      const finished = offsetRanges(state.get(STATE_KEYS.finished) as OffsetRangesSnapshot | undefined);
      const leftAt = opened.left(state.under);
      const last = opened.lastCrawls(state.under);
      journals.push(...journalRecords(state.under));
      after += opened.unfinishedAfter(state.under);
      const add = (offset: number, value: string | null): void => {
        let left;
        let request;
        try {
          request = pipeline.requests.parse(value);
          left = leftAt(offset, value);
        } catch {
          // Malformed: it costs no HTTP request.
          return;
        }
        if (left.kind === 'lookup') {
          keys += left.keys;
          return;
        }
        const pages = left.whole ? pipeline.expect(request, last.get(request.key)) : undefined;
        walks.push({
          key: request.key,
          request: request.value,
          page: left.page,
          from: left.from,
          lane,
          ...(pages !== undefined && { pages }),
        });
      };
      const resumed = opened.resumed(state.under);
      const topic = requestsTopic(pipeline, names);
      for await (const { offset, value } of requestsInOrder({ log, topic, partition: lane, from: finished.next, resumed }))
        if (!finished.has(offset)) add(offset, value);
      for (const { request } of listed) if (partitionForKey(request.key, lanes) === lane) add(-1, request.value);
    }
  } finally {
    for (const source of opened.sources) await source.close();
  }
  return { pipeline: pipeline.name, walks, keys, after, journals };
}

/** Opens a pipeline's work without a lane: its sources are asked nothing. */
function openToLook(
  pipeline: Pipeline,
  { clock, env, lanes }: { readonly clock: Clock; readonly env: LeftToDoOptions['env']; readonly lanes: number },
): OpenedPipeline {
  return pipeline.open({
    lane: 0,
    lanes,
    clock,
    env,
    credits: creditPool({ max: pipeline.maxOutstanding }),
    signal: new AbortController().signal,
    onAttempt: () => undefined,
    journal: {
      leaseMs: 1_000,
      open: () => ({
        restored: undefined,
        granted: () => Promise.resolve(),
        settled: () => undefined,
        learned: () => undefined,
      }),
    },
  });
}
