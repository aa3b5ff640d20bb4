import {
  type Forecast,
  type JobGroups,
  type LaneLeft,
  type LogView,
  type Pipeline,
  type PipelineLeft,
  type WalkLeft,
  forecast,
  leftToDo,
  topicNames,
} from '@headgate/pipeline';
import { growingGroups } from '@headgate/pipeline/internal';
import type { StateReading, TopicLog } from '@headgate/topics';
import { commandsFor } from '../config/commands-for.ts';
import { partitionsOf } from '../run/topics.ts';
import { countOpenOf, openDeadLetterLines } from '../status/open-dead-letters.ts';
import { padWidth, displayWidth } from '../status/text/cells.ts';
import { durationWords } from '../status/text/duration-words.ts';
import { escapedControls } from '../status/text/escaped-controls.ts';
import { countWords, groupedNumber } from '../status/text/number-words.ts';
import { plainOutput } from '../status/text/plain-output.ts';
import { safeText } from '../status/text/safe-text.ts';
import { createTimeWords } from '../status/text/time-words.ts';
import { rateWords } from '../status/format-row.ts';
import { type CommandContext, openLogToRead, readConfig } from './command-context.ts';

/** Maximum crawls of a pipeline that have their own line. One more line counts the rest. */
const LISTED = 50;

/** Writes the remaining work, the requests it needs and its finish time to stdout. Changes nothing. Resolves to the exit code. */
export async function plan(context: CommandContext): Promise<number> {
  const { clock, env, json, stdout } = context;
  const config = await readConfig(context);
  const { pipelines, topics } = config;
  await using opened = await openLogToRead(context, topics);
  const partitions = opened === undefined ? new Map<string, number>() : await partitionsOf(opened, config);
  const log = logView(opened, partitions);
  const left = await leftToDo({ log, pipelines, group: topics.group, lanes: topics.lanes, names: topicNames(topics), clock, env });
  const now = clock.epochMs();
  const plans = left.map((one) =>
    planned(
      one,
      pipelines.find(({ name }) => name === one.pipeline),
      now,
    ),
  );
  const open = opened === undefined ? {} : await countOpenOf({ log, pipelines, group: topics.group, names: topicNames(topics) });
  if (json) stdout.write(`${escapedControls(JSON.stringify({ ...planJson(plans, now), open_dead_letters: open }))}\n`);
  else
    plainOutput(stdout).write(
      [planText(plans, now), ...openDeadLetterLines(open, commandsFor(context)).map((line) => `${line}\n`)].join(''),
    );
  return 0;
}

/** A view of the log in which a missing topic is empty. `partitions`: number of partitions of each existing topic. */
function logView(log: TopicLog | undefined, partitions: ReadonlyMap<string, number>): LogView & Pick<TopicLog, 'listTopics' | 'offsets'> {
  const exists = (topic: string, partition: number): boolean => partition < (partitions.get(topic) ?? 0);
  return {
    listTopics: async (names = [], options) =>
      (await log?.listTopics(
        names.filter((name) => exists(name, 0)),
        options,
      )) ?? [],
    offsets: async (places, which) => (await log?.offsets(places, which)) ?? [],
    async *readBytes(options) {
      const { topic, partitions: wanted } = options;
      const existing = wanted?.filter((partition) => exists(topic, partition));
      if (log === undefined || !exists(topic, 0) || existing?.length === 0) return;
      yield* log.readBytes({ ...options, ...(existing !== undefined && { partitions: existing }) });
    },
    readState: async (topic, partition) =>
      log !== undefined && exists(topic, partition)
        ? await log.readState(topic, partition)
        : (Object.assign(new Map<string, string>(), { ageMs: () => 0 }) satisfies StateReading),
  };
}

interface Planned {
  readonly pipeline: Pipeline | undefined;
  readonly left: PipelineLeft;
  readonly forecast: Forecast;
  /** False if sizes are unknown, or if jobs can create further jobs. */
  readonly isExact: boolean;
  /** The crawls of all lanes. */
  readonly walks: readonly PlannedWalk[];
  /** The groups that have jobs, or get some from the records of others. Undefined if the pipeline has no groups. */
  readonly groups: readonly PlannedGroup[] | undefined;
}

interface PlannedWalk {
  readonly walk: WalkLeft;
  readonly lane: LaneLeft;
}

interface PlannedGroup {
  readonly name: string;
  readonly walks: readonly PlannedWalk[];
  /** The groups whose records create further jobs of this group. */
  readonly from: readonly string[];
}

function planned(left: PipelineLeft, pipeline: Pipeline | undefined, now: number): Planned {
  const walks = left.lanes.flatMap((lane) => lane.walks.map((walk) => ({ walk, lane })));
  const all = forecast(left.lanes, { now });
  const groups = pipeline?.groups && plannedGroups(pipeline.groups, walks);
  const isExact = all.unknown === 0 && groups?.some(({ from }) => from.length > 0) !== true;
  return { pipeline, left, forecast: all, isExact, walks, groups };
}

function plannedGroups(groups: JobGroups, walks: readonly PlannedWalk[]): readonly PlannedGroup[] {
  const byGroup = Map.groupBy(walks, ({ walk }) => groups.of(walk.key));
  const growing = growingGroups(groups, (name) => byGroup.has(name));
  return Object.keys(groups.makes).flatMap((name) => {
    const from = Object.entries(groups.makes).flatMap(([parent, made]) =>
      made.includes(name) && (byGroup.has(parent) || growing.has(parent)) ? [parent] : [],
    );
    const own = byGroup.get(name) ?? [];
    return own.length + from.length === 0 ? [] : [{ name, walks: own, from }];
  });
}

/** The plan for `--json`. If `is_exact` is false, `done_at` is the earliest finish time. */
function planJson(plans: readonly Planned[], now: number): object {
  const at = (inMs: number): string => new Date(now + inMs).toISOString();
  const pipelines = plans.map(
    ({ pipeline, left: { pipeline: name, lanes, after }, forecast: { requests, inMs }, isExact, walks, groups }) => ({
      pipeline: name,
      requests,
      is_exact: isExact,
      done_at: requests === 0 ? undefined : at(inMs),
      credentials: credentialsOf(lanes),
      budgets: lanes.flatMap(({ lane, budgets }) =>
        budgets.map(({ credential, name: budget, limit, windowMs, unit }) => ({
          lane,
          credential,
          budget,
          limit,
          window_ms: windowMs,
          unit,
        })),
      ),
      unit: pipeline?.unit,
      page_items: pipeline?.pageItems,
      walks: walks.map(({ walk, lane }) => ({
        key: walk.key,
        group: pipeline?.groups?.of(walk.key),
        request: JSON.parse(walk.request) as unknown,
        lane: lane.lane,
        credentials: credentialsOf([lane]),
        whole: walk.whole,
        page: walk.page,
        pages: walk.pages,
        requests: walk.pages === undefined ? undefined : requestsOf(walk.page, walk.pages),
      })),
      groups: groups?.map(({ name: group, walks: { length: jobs }, from }) => ({
        group,
        jobs,
        from: from.length === 0 ? undefined : from,
      })),
      keys: lanes.reduce((sum, { keys }) => sum + keys, 0),
      keys_per_request: Math.max(...lanes.map(({ keysPerRequest }) => keysPerRequest)),
      after,
    }),
  );
  const requests = pipelines.reduce((sum, one) => sum + one.requests, 0);
  const inMs = Math.max(...plans.map((one) => one.forecast.inMs));
  return { requests, is_exact: pipelines.every((one) => one.is_exact), done_at: requests === 0 ? undefined : at(inMs), pipelines };
}

/** Remaining requests of a crawl that continues at `page`, if it has as many pages as last time. */
function requestsOf(page: number, pages: number): number {
  return Math.max(1, pages - page + 1);
}

function credentialsOf(lanes: readonly LaneLeft[]): readonly string[] {
  return [...new Set(lanes.flatMap(({ budgets }) => budgets.flatMap(({ credential = [] }) => credential)))];
}

function planText(plans: readonly Planned[], now: number): string {
  const rows = plans.flatMap((one) => rowsOf(one, now));
  const after = plans.reduce((sum, { left }) => sum + left.after, 0);
  const behind = after > 0 ? `${countWords(after, 'piece', 'pieces')} of work after jobs; no requests needed.\n` : '';
  if (rows.length === 0) return behind === '' ? 'All jobs are done.\n' : behind;
  const table = [['', '', 'requests', 'with', 'done'], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((row) => displayWidth(row[column] ?? ''))));
  const lines = table.map((row) =>
    row
      .map((cell, i) => (i === 2 ? cell.padStart(widths[i] ?? 0) : padWidth(cell, widths[i] ?? displayWidth(cell))))
      .join('   ')
      .trimEnd(),
  );
  const rates = plans.flatMap(({ left: { lanes, pipeline: name }, pipeline, isExact }) => {
    const budgets = lanes.flatMap((lane) => lane.budgets.map((budget) => ({ ...budget, pipeline: name })));
    const rate = isExact || pipeline === undefined ? [] : rateWords(name, pipeline, budgets);
    return rate.map((words) => `${name}: ${words}.`);
  });
  return `${[...lines, ...rates].join('\n')}\n${behind}`;
}

function rowsOf(of: Planned, now: number): string[][] {
  const { left, forecast: all, isExact, walks, groups } = of;
  const { lanes } = left;
  const every = withWords(credentialsOf(lanes));
  const rows = groups?.map((group) => groupRow(group, every)) ?? walks.slice(0, LISTED).map(walkRow);
  if (groups === undefined && walks.length > LISTED) rows.push([`and ${countWords(walks.length - LISTED, 'more job')}`, '', '', every, '']);
  const keys = lanes.reduce((sum, lane) => sum + lane.keys, 0);
  const own = forecast(
    lanes.map((lane) => ({ ...lane, walks: [] })),
    { now },
  );
  if (keys > 0) {
    const perRequest = Math.max(...lanes.map(({ keysPerRequest }) => keysPerRequest));
    const batches = `${groupedNumber(keys)} in batches of ${groupedNumber(perRequest)}`;
    rows.push([`${left.pipeline} keys`, batches, groupedNumber(own.requests), every, walks.length === 0 ? when(now, own.inMs) : '']);
  }
  if (walks.length === 0) return rows;
  // Every row says that its number isn't known, so a sum says nothing.
  if (groups !== undefined && keys === 0 && rows.every(([, , requests]) => requests === '?')) return rows;
  // With unknown sizes, the time is only a minimum. A minimum below 1 s is left out.
  const done = isExact ? when(now, all.inMs) : all.inMs < 1_000 ? '' : `${when(now, all.inMs)}, or later`;
  return [...rows, [`all of ${left.pipeline}`, isExact ? '' : 'at least', groupedNumber(all.requests), every, done]];
}

function walkRow({ walk, lane }: PlannedWalk): string[] {
  const { key, page, pages } = walk;
  const size = pages === undefined ? '(size not known yet)' : '(if it is as long as last time)';
  const requests = pages === undefined ? '?' : groupedNumber(requestsOf(page, pages));
  return [safeText(key), where(walk), requests, withWords(credentialsOf([lane])), size];
}

/** The row of a group. A group with one job has the row of that job. */
function groupRow({ name, walks, from }: PlannedGroup, every: string): string[] {
  const [first] = walks;
  const parents = from.map((parent) => safeText(parent)).join(' and ');
  if (first === undefined) return [safeText(name), `a job per record of ${parents}`, '?', every, '(number not known yet)'];
  if (walks.length === 1 && from.length === 0) return walkRow(first);
  const known = walks.reduce((sum, { walk: { page, pages } }) => sum + (pages === undefined ? 1 : requestsOf(page, pages)), 0);
  const unknown = walks.filter(({ walk }) => walk.pages === undefined).length;
  const isLeast = unknown > 0 || from.length > 0;
  const notes = [
    ...(unknown === 0 ? [] : [`size of ${countWords(unknown, 'job')} not known yet`]),
    ...(from.length === 0 ? [] : [`and a job per new record of ${parents}`]),
  ];
  return [
    safeText(name),
    countWords(walks.length, 'job'),
    `${isLeast ? 'at least ' : ''}${groupedNumber(known)}`,
    every,
    notes.length === 0 ? '' : `(${notes.join(', ')})`,
  ];
}

function where({ page, whole }: WalkLeft): string {
  if (page > 1) return `from page ${groupedNumber(page)}`;
  return whole ? 'from the start' : 'a part';
}

/** Names up to three credentials, such as `app, reader`. More are only counted. */
function withWords(names: readonly string[]): string {
  return names.length > 3 ? countWords(names.length, 'credential') : names.map((name) => safeText(name, 40)).join(', ');
}

function when(now: number, inMs: number): string {
  if (inMs < 1_000) return 'at once';
  return `in ${durationWords(inMs)}${inMs < 60_000 ? '' : `, ${createTimeWords().when(now + inMs, now)}`}`;
}
