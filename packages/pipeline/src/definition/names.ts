import type { TopicPartition } from '@headgate/topics';
import { DEAD_LETTERS } from '../dead-letters/dead-letter.ts';
import type { TopicMap, TopicNames } from './topic.ts';

/** How topics are named on the log: several groups can share a cluster. */
export interface TopicNaming {
  /** Text before each topic's name, such as `prod.social.`. Default: none. Not added to the names in `names`. */
  readonly prefix?: string;
  /** Other names for some topics, by their default names: `{ 'issues.records': 'team.issues' }`. Default: none. */
  readonly names?: Readonly<Record<string, string>>;
}

/** The part of a pipeline that its topics' names depend on. */
interface Named {
  readonly name: string;
}

/** Returns the log's name of each topic. */
export function topicNames({ prefix = '', names = {} }: TopicNaming = {}): TopicNames {
  return (name) => (Object.hasOwn(names, name) ? names[name] : undefined) ?? prefix + name;
}

/** Name of the topic with the state of the group. The state belongs to no lane, so the topic has one partition. */
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

/** Name of the lane in which lists are enqueued. */
export function listLane(group: string): string {
  return `${group}.request-list`;
}

/** Name of the lane in which dead letters are replayed and dismissed. */
export function replayGroup(group: string): string {
  return `${group}.replay`;
}

/** Number of lanes of a pipeline: the option `lanes`, or 1 if the pipeline doesn't split credentials among its lanes. */
export function lanesOf({ credentials }: { readonly credentials?: readonly unknown[] | undefined }, lanes: number): number {
  return credentials === undefined ? 1 : lanes;
}

/** Every partition that a lane of a pipeline writes, except its state. */
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
