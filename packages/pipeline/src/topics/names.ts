import type { TopicPartition } from '@headgate/topics';
import { DEAD_LETTERS } from './dead-letter.ts';
import type { TopicMap, TopicNames } from './topic.ts';

/** How topics are named on the log. With different names, several groups can share a cluster. */
export interface TopicNaming {
  /** Text before each topic's name, such as `prod.social.`. Not added to the names in `names`. Default: none. */
  readonly prefix?: string;
  /** Other names for some topics, by their default names: `{ 'issues.records': 'team.issues' }`. Default: none. */
  readonly names?: Readonly<Record<string, string>>;
}

interface Named {
  readonly name: string;
}

/** Returns a function that maps a topic's default name to its name on the log. */
export function topicNames({ prefix = '', names = {} }: TopicNaming = {}): TopicNames {
  return (name) => (Object.hasOwn(names, name) ? names[name] : undefined) ?? prefix + name;
}

/** Default name of the topic for state that belongs to the group rather than to a lane. The topic has one partition. */
export const GROUP_STATE = 'headgate.state';

export function requestsTopic({ name }: Named, names: TopicNames): string {
  return names(`${name}.requests`);
}

export function stateTopic({ name }: Named, names: TopicNames): string {
  return names(`${name}.state`);
}

/** A lane's name on the log: on Kafka its transactional ID. */
export function laneName(group: string, topic: string, lane: number): string {
  return `${group}.${topic}.${lane}`;
}

/** Name of the lane that enqueues lists. */
export function listLane(group: string): string {
  return `${group}.request-list`;
}

/** Name of the lane that replays and dismisses dead letters. */
export function replayGroup(group: string): string {
  return `${group}.replay`;
}

/** Number of lanes of a pipeline: `lanes`, or 1 if the pipeline has no credentials that lanes can divide. */
export function lanesOf({ credentials }: { readonly credentials?: readonly unknown[] | undefined }, lanes: number): number {
  return credentials === undefined ? 1 : lanes;
}

/** Returns the partitions that a lane of a pipeline can write to, except that of its state. */
export function lanePartitions(
  { name, topics, makesRequests = false }: Named & { readonly topics: TopicMap; readonly makesRequests?: boolean },
  names: TopicNames,
  lane: number,
): TopicPartition[] {
  const own = Object.entries(topics).flatMap(([topic, { partitions }]) => {
    const on = names(`${name}.${topic}`);
    if (partitions === undefined) return [{ topic: on, partition: lane }];
    return Array.from({ length: partitions }, (_, partition) => ({ topic: on, partition }));
  });
  const requests = makesRequests ? [{ topic: requestsTopic({ name }, names), partition: lane }] : [];
  return [...own, ...requests, { topic: names(`${name}.${DEAD_LETTERS}`), partition: lane }];
}
