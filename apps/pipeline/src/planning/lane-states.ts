import type { TopicsConfig } from '../config/config.ts';
import { type LaneValue, laneKeys } from '../lanes/lane-keys.ts';
import { type OffsetRanges, type OffsetRangesSnapshot, offsetRanges } from '../lanes/offset-ranges.ts';
import { TOPICS, requestsTopic, statePartition } from '../records/topic-names.ts';
import type { ServiceName } from '../status/run-event.ts';
import type { LogView } from './log-view.ts';

/** What the log keeps of a lane. */
export interface LaneState {
  /** Of the wishes. */
  readonly topic: string;
  readonly partition: number;
  readonly finished: OffsetRanges;
  under(this: void, prefix: string): readonly LaneValue[];
}

export interface LaneStates {
  /** By their numbers. */
  readonly followers: readonly LaneState[];
  readonly books: LaneState;
}

/** Reads how all lanes stand, without taking one. */
export async function readLaneStates({ log, topics }: { readonly log: LogView; readonly topics: TopicsConfig }): Promise<LaneStates> {
  const read = async (service: ServiceName, lane: number): Promise<LaneState> => {
    const state = await log.readState(TOPICS.state, statePartition(service, lane));
    const keys = laneKeys({ group: topics.group, service, lane });
    return {
      topic: requestsTopic(service),
      partition: lane,
      finished: offsetRanges(keys.get(state, 'lane') as OffsetRangesSnapshot | undefined),
      under: (prefix) => keys.under(state, prefix),
    };
  };
  const followers: LaneState[] = [];
  for (let lane = 0; lane < topics.lanes; lane += 1) followers.push(await read('followers', lane));
  return { followers, books: await read('books', 0) };
}
