import { type LaneTransaction, type LaneWriter, type TopicLog, type TopicRecord } from '@headgate/topics';
import type { PipelineJobs } from '../definition/pipeline-jobs.ts';
import { GROUP_STATE, replayGroup, requestsTopic, topicNames } from '../topics/names.ts';
import { topicPartitions } from '../lane/topic-partitions.ts';
import type { TopicNames } from '../topics/topic.ts';
import { RESUME } from '../topics/job.ts';
import type { ClosedDeadLetters } from '../lane/closed-dead-letters.ts';
import { HELD } from '../topics/dead-letter.ts';
import { type OpenDeadLetter, deadLetterValue, deadLettersOf, openDeadLetters } from './open-dead-letters.ts';

/** Options of {@link dismissDeadLetters} and {@link replayDeadLetters}: the dead letters to close. */
export interface CloseDeadLettersOptions {
  /** Log that has the pipeline's topics. It stays open. */
  readonly log: TopicLog;
  /** Group of the runs. Default `headgate`. */
  readonly group?: string;
  /** Returns the log's name of a topic. Default: `topicNames()`, which changes no name. */
  readonly names?: TopicNames;
  /** Stops the work when it aborts. Default: never. */
  readonly signal?: AbortSignal;
  /** Returns true for an open dead letter that should be closed. Default: all of them. */
  readonly where?: (deadLetter: OpenDeadLetter) => boolean;
  /** Only counts, and writes nothing. Default: false. */
  readonly dryRun?: boolean;
}

/** Options of {@link replayDeadLetters}. */
export interface ReplayOptions extends CloseDeadLettersOptions {
  /** The pipeline's jobs, such as `issues.definition.requests` for a pipeline `issues`. */
  readonly requests: PipelineJobs;
  /** Called with each dead letter that can't be replayed, because its job is missing or a run couldn't process it. */
  readonly onLeft?: (left: Pick<OpenDeadLetter, 'partition' | 'offset' | 'key'> & { readonly reason: string }) => void;
}

/**
 * Enqueues the jobs of a pipeline's open dead letters again, each once, and closes these dead letters. The dead letter of a part of a page
 * that an incremental walk holds stays open until a run writes the part. Returns for how many a job was enqueued, and how many have no
 * job that a run could process.
 */
export async function replayDeadLetters(options: ReplayOptions): Promise<{ readonly replayed: number; readonly left: number }> {
  const { requests, names = topicNames(), onLeft } = options;
  const target = requestsTopic(requests, names);
  /** Jobs of dead letters that contain a part of a page. Several parts can have one job. */
  const jobs = new Set<string>();
  let left = 0;
  const replayed = await closeDeadLetters(options, requests.name, (deadLetter) => {
    const { partition, offset, key } = deadLetter;
    const request = workableJob(deadLetter.record, requests);
    if ('text' in request) {
      const { key: recordKey, headers } = deadLetter.record;
      const resume = headers[RESUME];
      // Keep the partition, because a job that a page created belongs to the lane of that page, whatever its key is.
      const put = {
        topic: target,
        partition,
        key: recordKey,
        value: request.text,
        ...(resume !== undefined && { headers: { [RESUME]: resume } }),
      };
      const job = `${partition}/${request.text}`;
      const isRepeated = request.isOfPart && jobs.size === jobs.add(job).size;
      // A held part is closed by the run that writes it.
      return { write: (tx) => void (isRepeated || tx.append([put])), isClosed: headers[HELD] === undefined };
    }
    left += 1;
    onLeft?.({ partition, offset, key, reason: request.reason });
    return undefined;
  });
  return { replayed, left };
}

/** Options of {@link dismissDeadLetters}. */
export interface DismissOptions extends CloseDeadLettersOptions {
  /** Name of the pipeline. */
  readonly pipeline: string;
}

/**
 * Closes open dead letters of a pipeline without enqueuing their jobs. The dead letters stay in their topic, but are no longer open.
 * Returns how many were closed.
 */
export async function dismissDeadLetters(options: DismissOptions): Promise<number> {
  return await closeDeadLetters(options, options.pipeline, () => ({ write: () => undefined, isClosed: true }));
}

/**
 * Limits of a transaction that closes dead letters: their number, and the total bytes of their values. The last one can exceed the bytes.
 */
const CLOSED_TOGETHER = { count: 200, bytes: 500_000 } as const;

interface Closing {
  /** Writes more into the transaction that closes the dead letter. */
  readonly write: (tx: LaneTransaction) => void;
  /** False: the dead letter stays open until a run closes it. */
  readonly isClosed: boolean;
}

/** Closes open dead letters. `closing` returns undefined for a dead letter that nothing is done for. Returns how many had something done. */
async function closeDeadLetters(
  options: CloseDeadLettersOptions,
  pipeline: string,
  closing: (deadLetter: OpenDeadLetter) => Closing | undefined,
): Promise<number> {
  const { log, names = topicNames(), group = 'headgate', signal, where = () => true, dryRun = false } = options;
  const from = { log, pipeline, names, group, signal };
  let count = 0;
  if (dryRun) {
    for await (const deadLetter of openDeadLetters(from)) if (where(deadLetter) && closing(deadLetter) !== undefined) count += 1;
    return count;
  }
  // The lane allows one replay or dismissal of the group at a time. Two concurrent replays would enqueue each job twice.
  const state = { topic: names(GROUP_STATE), partition: 0 };
  const writes = await topicPartitions(log, [names(`${pipeline}.requests`)]);
  await using lane = await log.openLane({ name: replayGroup(group), state, writes }, signal);
  for (const { closed, open } of await deadLettersOf(from, lane.state)) {
    let batch = newBatch();
    for await (const deadLetter of open()) {
      const done = where(deadLetter) ? closing(deadLetter) : undefined;
      if (done === undefined) continue;
      batch.writes.push(done.write);
      if (done.isClosed) closed.close(deadLetter.offset, deadLetter.after);
      batch.bytes += deadLetter.record.value?.length ?? 0;
      if (batch.writes.length < CLOSED_TOGETHER.count && batch.bytes < CLOSED_TOGETHER.bytes) continue;
      count += await commitBatch(lane, batch, closed);
      batch = newBatch();
    }
    if (batch.writes.length > 0) count += await commitBatch(lane, batch, closed);
  }
  return count;
}

interface Batch {
  readonly writes: ((tx: LaneTransaction) => void)[];
  bytes: number;
}

function newBatch(): Batch {
  return { writes: [], bytes: 0 };
}

async function commitBatch(lane: LaneWriter, { writes }: Batch, closed: ClosedDeadLetters): Promise<number> {
  await lane.transaction((tx) => {
    for (const write of writes) write(tx);
    for (const [key, note] of closed.notes()) tx.checkpoint(key, note);
  });
  return writes.length;
}

/** Returns the job of a dead letter as JSON, or the reason why it can't be replayed. */
function workableJob(
  record: TopicRecord<Uint8Array>,
  requests: PipelineJobs,
): { readonly text: string; readonly isOfPart: boolean } | { readonly reason: string } {
  try {
    const { request, requestBase64, record: part } = deadLetterValue(record);
    if (requestBase64 !== undefined) return { reason: 'Its job is binary. Runs accept only JSON text.' };
    if (request === undefined || request === null) return { reason: 'It contains no job.' };
    const text = JSON.stringify(request);
    requests.parse(text);
    requests.check(text);
    return { text, isOfPart: part !== undefined || record.headers[HELD] !== undefined };
  } catch (error) {
    return { reason: (error as Error).message };
  }
}
