import type { ListedJob, Pipeline } from '../definition/pipeline.ts';
import { lanesOf, requestsTopic, stateTopic } from '../topics/names.ts';
import { jobIdentity } from '../topics/job-identity.ts';
import type { JobRecord } from '../topics/job.ts';
import type { LaneRun } from './pipeline-lane.ts';
import { laneState } from '../lane/lane-state.ts';
import { unfinishedJobs } from '../jobs/jobs-in-order.ts';

/** A part of a list whose jobs are enqueued again, whether or not they are due. */
export interface ListAgain {
  /** Name of the pipeline. */
  readonly pipeline: string;
  /** Only the jobs of this group, such as a stream of a section. Default: all jobs of the list. */
  readonly group?: string;
  /**
   * True: the walks of these jobs, and of all jobs that their records create, start without what earlier walks of their keys
   * carried. Default: false.
   */
  readonly fromStart?: boolean;
}

/** What was chosen to be listed again. */
export interface ChosenAgain extends ListAgain {
  /** Only jobs with these keys. Default: all. */
  readonly keys?: ReadonlySet<string> | undefined;
}

export function isChosenAgain(again: ChosenAgain, { name, groups }: Pipeline, { key }: Pick<ListedJob, 'key'>): boolean {
  if (name !== again.pipeline || again.keys?.has(key) === false) return false;
  return again.group === undefined || groups?.of(key) === again.group;
}

/** Returns why no listed job is chosen, as a sentence with the valid names. Undefined: at least one is. */
export function nothingChosen(pipelines: readonly Pipeline[], again: ChosenAgain): string | undefined {
  const pipeline = pipelines.find(({ name }) => name === again.pipeline);
  if (pipeline === undefined) return `there is no pipeline ${again.pipeline}. There are ${pipelines.map(({ name }) => name).join(', ')}.`;
  const { name, groups } = pipeline;
  const listed = [...pipeline.listed()];
  if (listed.some((request) => isChosenAgain(again, pipeline, request))) return undefined;
  if (listed.length === 0) return `${name} lists nothing, so there is nothing to list again. Add jobs instead: headgate enqueue ${name}`;
  const listedGroups = [...new Set(listed.map(({ key }) => groups?.of(key) ?? ''))];
  const { group, keys } = again;
  if (group !== undefined && !listedGroups.includes(group)) {
    if (groups === undefined) return `${name} has no streams. Write only ${name}.`;
    const parents = listedGroups.filter((parent) => madeBy(pipeline, parent).has(group));
    if (parents.length > 0)
      return `${name}.${group} is requested for records of ${parents.join(', ')}. To request it again, write ${name}.${parents[0]}.`;
    return `${name} has no stream ${group}. It has ${Object.keys(groups.makes).join(', ')}.`;
  }
  return `the list of ${group === undefined ? name : `${name}.${group}`} has no job with the key ${[...(keys ?? [])].join(', ')}.`;
}

/** Returns the groups whose jobs come of a group's records: its children, their children, and so on. */
function madeBy({ groups }: Pick<Pipeline, 'groups'>, group: string, found = new Set<string>()): ReadonlySet<string> {
  for (const child of groups?.makes[group] ?? []) if (!found.has(child)) madeBy({ groups }, child, found.add(child));
  return found;
}

/**
 * Returns those of a pipeline's listed jobs that must not be enqueued again yet: an equal job is unfinished, or one of a group whose
 * jobs come of the records of theirs.
 */
export async function unfinishedOf(
  pipeline: Pipeline,
  listed: readonly ListedJob[],
  { log, group, lanes, names, signal }: Pick<LaneRun, 'log' | 'group' | 'lanes' | 'names'> & { readonly signal: AbortSignal },
): Promise<ReadonlySet<ListedJob>> {
  const { groups, requests } = pipeline;
  const groupOf = (key: string): string => groups?.of(key) ?? '';
  const above = [...new Set(listed.map(({ key }) => groupOf(key)))].map((name) => [name, madeBy(pipeline, name)] as const);
  const [identities, unfinished] = [new Set<string>(), new Set<string>()];
  const note = ({ key, value, root }: JobRecord): void => {
    const parsed = parsedOr(() => requests.read(value));
    if (parsed === undefined) return;
    identities.add(jobIdentity(parsed, value ?? 'null'));
    const own = groupOf(key ?? '');
    for (const [name, made] of above) if (groups === undefined ? root !== undefined : made.has(own)) unfinished.add(name);
  };
  const topic = requestsTopic(pipeline, names);
  for (let lane = 0; lane < lanesOf(pipeline, lanes); lane += 1) {
    const state = laneState(group, await log.readState(stateTopic(pipeline, names), lane));
    for await (const record of unfinishedJobs(log, topic, lane, state, signal)) note(record);
  }
  return new Set(listed.filter(({ key, identity }) => identities.has(identity) || unfinished.has(groupOf(key))));
}

/** A record that isn't a valid job becomes a dead letter, so it isn't an unfinished one. */
function parsedOr(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return undefined;
  }
}
