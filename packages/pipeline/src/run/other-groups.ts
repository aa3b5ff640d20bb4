import type { StateReading, TopicLog } from '@headgate/topics';
import { requestsTopic, stateTopic } from '../topics/names.ts';
import type { TopicNames } from '../topics/topic.ts';
import type { PipelineTopics } from '../topics/topics.ts';
import { STATE_KEYS, laneState } from '../lane/lane-state.ts';
import { readState } from '../lane/state-check.ts';

/** Time without activity after which a group counts as abandoned, in ms. Warnings about the former name of a renamed group end then. */
const WORKED_LATELY_MS = 86_400_000;

/** Options of `otherGroupsWarnings`. */
export interface OtherGroupsOptions {
  /** The state of the pipeline's first lane, which is searched for other groups. */
  readonly state: StateReading;
  /** This run's group, which is never reported. */
  readonly group: string;
  /** The pipeline that the state belongs to. */
  readonly pipeline: PipelineTopics;
  /** Returns the log's name of a topic. */
  readonly names: TopicNames;
}

/**
 * Returns warnings about other groups that process the pipeline's requests, because each group writes all records again. Finds the groups
 * by their keys in the pipeline's state. A group without progress, for example with a mistyped name, is warned of every other group. A
 * group with progress is warned only of groups that were active within a day.
 */
export function otherGroupsWarnings({ state, group, pipeline, names }: OtherGroupsOptions): readonly string[] {
  const isNew = laneState(group, state).get(STATE_KEYS.finished) === undefined;
  const idleMs = new Map<string, number>();
  for (const key of state.keys()) {
    const [name = ''] = key.split('/', 1);
    if (name !== group) idleMs.set(name, Math.min(state.ageMs(key), idleMs.get(name) ?? Infinity));
  }
  const topic = requestsTopic(pipeline, names);
  return [...idleMs]
    .filter(([, ms]) => isNew || ms < WORKED_LATELY_MS)
    .map(([name, ms]) => {
      const what = isNew
        ? `Group "${group}" starts over: group "${name}" processed ${topic} (last ${ageWords(ms)} ago), and this group processes and writes all of it again. Did the group's name change by mistake?`
        : `Group "${name}" also processes ${topic} (last ${ageWords(ms)} ago), so every job is processed and written twice.`;
      return `${what} Independent groups need separate topics.`;
    });
}

/**
 * Returns the warnings of `otherGroupsWarnings` for several pipelines, without taking a lane. `missing`: names of topics that don't exist.
 */
export async function findOtherGroups({
  log,
  group,
  pipelines,
  names,
  missing,
}: Omit<OtherGroupsOptions, 'state' | 'pipeline'> & {
  readonly log: TopicLog;
  readonly pipelines: readonly PipelineTopics[];
  readonly missing: readonly string[];
}): Promise<readonly string[]> {
  const found = pipelines.map(async (pipeline) => {
    const topic = stateTopic(pipeline, names);
    const state = missing.includes(topic) ? undefined : await readState(log, topic, 0);
    return state === undefined ? [] : otherGroupsWarnings({ state, group, pipeline, names });
  });
  return (await Promise.all(found)).flat();
}

function ageWords(ms: number): string {
  const [unit, name] = UNITS.find(([least]) => ms >= least) ?? [1_000, 's'];
  return `${Math.round(ms / unit)} ${name}`;
}

const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
] as const;
