import type { RequiredAccess } from '@headgate/topics';
import type { Pipeline } from '../definition/pipeline.ts';
import { GROUP_STATE, laneName, lanesOf, listLane, replayGroup, requestsTopic, stateTopic } from '../topics/names.ts';
import { DEAD_LETTERS } from '../topics/dead-letter.ts';
import type { TopicNames } from '../topics/topic.ts';

/** Options of {@link requiredPermissions}. */
export interface RequiredPermissionsOptions {
  /** Pipelines of the run. */
  readonly pipelines: readonly Pipeline[];
  /** Group of the run. */
  readonly group: string;
  /** Number of lanes of each pipeline that splits its credentials. */
  readonly lanes: number;
  /** Returns the log's name of a topic. */
  readonly names: TopicNames;
}

/**
 * Returns the access to topics, group and lanes that a run needs. Every topic is read, because after a crash the log checks whether the
 * last transaction is complete.
 */
export function requiredPermissions({ pipelines, group, lanes, names }: RequiredPermissionsOptions): RequiredAccess {
  const state = { name: names(GROUP_STATE), reads: true, writes: true };
  const listed = pipelines.filter((pipeline) => [...pipeline.listed()].length > 0);
  const topics = pipelines.flatMap((pipeline) => {
    const { name } = pipeline;
    return [
      { name: requestsTopic(pipeline, names), reads: true, writes: listed.includes(pipeline) || pipeline.makesRequests },
      ...Object.keys(pipeline.topics).map((topic) => ({ name: names(`${name}.${topic}`), reads: true, writes: true })),
      { name: names(`${name}.${DEAD_LETTERS}`), reads: true, writes: true },
      { name: stateTopic(pipeline, names), reads: true, writes: true },
    ];
  });
  const held = pipelines.flatMap((pipeline) =>
    Array.from({ length: lanesOf(pipeline, lanes) }, (_, lane) => laneName(group, requestsTopic(pipeline, names), lane)),
  );
  if (pipelines.length === 0) return {};
  return { topics: [...topics, state], groups: [group], lanes: [...held, ...(listed.length > 0 ? [listLane(group)] : [])] };
}

/** Returns the rights that the commands `enqueue` and `replay` need in addition to those of a run. */
export function replayPermissions({ group }: { readonly group: string }): RequiredAccess {
  return { lanes: [replayGroup(group)], appends: true };
}
