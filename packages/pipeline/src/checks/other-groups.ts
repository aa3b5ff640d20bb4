import type { StateReading, TopicLog } from '@headgate/topics';
import { requestsTopic, stateTopic } from '../definition/names.ts';
import type { TopicNames } from '../definition/topic.ts';
import type { PipelineTopics } from '../definition/topics.ts';
import { STATE_KEYS, laneState } from '../engine/lane-state.ts';
import { readState } from './state-check.ts';

/** After this time a group counts as abandoned, so that an intended change of name doesn't warn forever. */
const WORKED_LATELY_MS = 86_400_000;

/** Topics to check for other groups. */
export interface OtherGroupsOptions {
  /** The state of the pipeline's first lane. */
  readonly state: StateReading;
  /** This run's group, which is never reported. */
  readonly group: string;
  /** Pipeline whose state is searched. */
  readonly pipeline: PipelineTopics;
  /** The topics' names on the log. */
  readonly names: TopicNames;
}

/**
 * Warns of other groups that process a pipeline's requests, found by their keys in its state, because each request of two groups is written
 * twice. A group without state, such as one with a changed or mistyped name, is warned of any earlier group. A group with state is warned
 * only of groups that were active within a day.
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

/** Warns of other groups of all pipelines, without taking any lane. `missing`: topics that don't exist. */
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
