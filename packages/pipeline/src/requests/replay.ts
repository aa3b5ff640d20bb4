import type { TopicLog } from '@headgate/topics';
import type { PipelineRequests } from '../define-pipeline.ts';
import { GROUP_STATE, replayGroup, requestsTopic } from '../names.ts';
import type { TopicNames } from '../topic.ts';
import { DEAD_LETTERS } from './dead-letter.ts';

export interface ReplayOptions {
  readonly log: TopicLog;
  readonly group: string;
  readonly requests: PipelineRequests;
  readonly names: TopicNames;
  readonly signal: AbortSignal;
  /** Told of each dead letter that stays: no run could work its request. */
  readonly onLeft: (left: {
    readonly partition: number;
    readonly offset: number;
    readonly key: string | null;
    readonly reason: string;
  }) => void;
}

/** Puts the requests of a pipeline's dead letters back into its requests topic, each once. Returns how many were, and how many stay. */
export async function replayDeadLetters(options: ReplayOptions): Promise<{ readonly replayed: number; readonly left: number }> {
  const { log, requests, names, signal, onLeft } = options;
  const topic = names(`${requests.name}.${DEAD_LETTERS}`);
  const target = requestsTopic(requests, names);
  const group = replayGroup(options.group);
  // Two at once would put each request back twice: the second finds the lane held.
  await using lane = await log.openLane({ name: group, state: { topic: names(GROUP_STATE), partition: 0 } }, signal);
  let replayed = 0;
  let left = 0;
  for await (const { partition, offset, key, value, unreadable } of log.read({ topic, group, unreadable: 'mark', signal })) {
    const request = unreadable === undefined ? workableRequest(value, requests) : { reason: unreadable.message };
    if ('reason' in request) {
      left += 1;
      onLeft({ partition, offset, key, reason: request.reason });
    } else replayed += 1;
    await lane.transaction((tx) => {
      if ('text' in request) tx.append([{ topic: target, key, value: request.text }]);
      tx.commitOffset({ group, topic, partition, offset: offset + 1 });
    });
  }
  return { replayed, left };
}

/** A letter may lack its request, if that was too large to be kept, and any client may write to a topic. */
function workableRequest(value: string | null, requests: PipelineRequests): { readonly text: string } | { readonly reason: string } {
  try {
    const found: unknown = JSON.parse(value ?? 'null');
    const request = typeof found === 'object' && found !== null && 'request' in found ? found.request : undefined;
    if (request === undefined || request === null) return { reason: 'It holds no request.' };
    const text = JSON.stringify(request);
    requests.parse(text);
    requests.check(text);
    return { text };
  } catch (error) {
    return { reason: (error as Error).message };
  }
}
