import { type TopicLog, type TopicRecord, textOf, textRecord } from '@headgate/topics';
import type { PipelineRequests } from '../define-pipeline.ts';
import { GROUP_STATE, replayGroup, requestsTopic, topicNames } from '../names.ts';
import type { TopicNames } from '../topic.ts';
import { DEAD_LETTERS } from './dead-letter.ts';

/** Options of {@link replayDeadLetters}. */
export interface ReplayOptions {
  /** Log that has the pipeline's topics. Stays open. */
  readonly log: TopicLog;
  /** Of the pipeline: `issues.definition.requests`. */
  readonly requests: PipelineRequests;
  /** Of the runs. Default `headgate`. */
  readonly group?: string;
  /** The topics' names on the log. Default: their own, as `topicNames()` gives them. */
  readonly names?: TopicNames;
  /** Ends it with the signal's reason. Default: none does. */
  readonly signal?: AbortSignal;
  /** Called with each dead letter that stays: no run could work its request. */
  readonly onLeft?: (left: {
    readonly partition: number;
    readonly offset: number;
    readonly key: string | null;
    readonly reason: string;
  }) => void;
}

/** Puts the requests of a pipeline's dead letters back into its requests topic, each once. Returns how many were, and how many stay. */
export async function replayDeadLetters(options: ReplayOptions): Promise<{ readonly replayed: number; readonly left: number }> {
  const { log, requests, names = topicNames(), signal = new AbortController().signal, onLeft } = options;
  const topic = names(`${requests.name}.${DEAD_LETTERS}`);
  const target = requestsTopic(requests, names);
  const group = replayGroup(options.group ?? 'headgate');
  // Two at once would put each request back twice: the second finds the lane held.
  await using lane = await log.openLane({ name: group, state: { topic: names(GROUP_STATE), partition: 0 } }, signal);
  let replayed = 0;
  let left = 0;
  for await (const record of log.readBytes({ topic, group, signal })) {
    const { partition, offset, key } = record;
    const request = workableRequest(record, requests);
    if ('reason' in request) {
      left += 1;
      onLeft?.({ partition, offset, key: key === null ? null : (textOf(key) ?? null), reason: request.reason });
    } else replayed += 1;
    await lane.transaction((tx) => {
      if ('text' in request) tx.append([{ topic: target, key, value: request.text }]);
      tx.commitOffset({ group, topic, partition, nextOffset: offset + 1 });
    });
  }
  return { replayed, left };
}

/** A dead letter lacks a request that was too large to keep, and any client may write to the topic. */
function workableRequest(
  record: TopicRecord<Uint8Array>,
  requests: PipelineRequests,
): { readonly text: string } | { readonly reason: string } {
  try {
    const { value } = textRecord({ ...record, key: null, headers: {} });
    const found: unknown = JSON.parse(value ?? 'null');
    const letter: { readonly request?: unknown; readonly requestBase64?: unknown } =
      typeof found === 'object' && found !== null ? found : {};
    const { request, requestBase64 } = letter;
    if (requestBase64 !== undefined) return { reason: 'Its request is bytes, and no run reads any but text of JSON.' };
    if (request === undefined || request === null) return { reason: 'It holds no request.' };
    const text = JSON.stringify(request);
    requests.parse(text);
    requests.check(text);
    return { text };
  } catch (error) {
    return { reason: (error as Error).message };
  }
}
