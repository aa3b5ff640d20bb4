import type { Doing, JobGroup, WalkRow, WorkRow } from '@headgate/pipeline';
import { countsWords, itemsWords, reasonWithout, type Units } from './format-event.ts';
import { failingPipelines } from './format-outage.ts';
import type { RunView } from './run-view.ts';
import { durationWords } from './text/duration-words.ts';
import { countWords, groupedNumber, percentWords, totalOf } from './text/number-words.ts';
import { safeText } from './text/safe-text.ts';
import type { TableRow, Tone } from './text/table.ts';
import type { TimeWords } from './text/time-words.ts';

type Budget = RunView['budgets'][number];

/** The activity of a request: `waits for budget until 11:21:49`. */
function doingWords(doing: Doing, now: number, times: TimeWords): string {
  switch (doing.state) {
    case 'requesting':
      return now - doing.since < 1_000
        ? 'response pending'
        : `response pending for ${durationWords(Math.floor((now - doing.since) / 1_000) * 1_000)}`;
    case 'retrying': {
      const seconds = Math.ceil(Math.max(0, doing.at - now) / 1_000);
      return `retries in ${durationWords(seconds * 1_000)}: ${safeText(doing.reason, 200)}`;
    }
    case 'waiting':
      if (doing.for === 'downstream') return 'waits for downstream capacity';
      if (doing.for === 'service') return 'waits for the service';
      if (doing.for === 'concurrency') return `waits for another request${ofWords(doing)} to end`;
      return `waits for budget${ofWords(doing)}${doing.until !== undefined && doing.until > now ? ` until ${times.when(doing.until, now)}` : ''}`;
    case 'writing':
      return 'writing';
    case 'behind':
      return safeText(doing.name);
  }
}

/** The credentials that a request waits for: ` of berlin`. Empty if the request can use any credential. */
function ofWords({ credentials }: Extract<Doing, { state: 'waiting' }>): string {
  if (credentials === undefined) return '';
  return ` of ${credentials.length > 3 ? countWords(credentials.length, 'credential') : credentials.map((name) => safeText(name, 40)).join(' or ')}`;
}

/** Words for the items of each pipeline, by the pipeline's name. */
export function unitsOf({ pipelines }: Pick<RunView, 'pipelines'>): Units {
  return Object.fromEntries(Object.entries(pipelines).map(([name, { unit }]) => [name, unit]));
}

export type JobState = 'working' | 'failed' | 'done';

export interface JobRow extends TableRow {
  /** Identifies the row across redraws. */
  readonly key: string;
  readonly state: JobState;
}

/** Rows for the first jobs: working ones, then failed, then done. A group of several jobs has one row. `others` counts the jobs without a row. */
export interface Jobs {
  readonly rows: readonly JobRow[];
  readonly others: Readonly<Record<JobState | 'waiting', number>>;
}

export interface JobFilter {
  /** Part of a job's name, in any case. Empty: every name. */
  readonly text: string;
  readonly state: JobState | 'all';
  /** Maximum rows. */
  readonly most: number;
}

const RANKS: Readonly<Record<JobState, number>> = { working: 0, failed: 1, done: 2 };

/** The rows of the first selected jobs, and the counts of the others. With a filter, each job of a group has its own row. */
export function jobRows(view: RunView, times: TimeWords, { text, state, most }: JobFilter): Jobs {
  const wanted = text.toLowerCase();
  const isAll = wanted === '' && state === 'all';
  const groups = isAll ? groupRows(view) : [];
  const isGrouped = (row: WorkRow): boolean =>
    row.kind === 'walk' && groups.some(({ pipeline, name }) => pipeline === row.pipeline && name === row.group);
  const found = view.work.filter((row) => (state === 'all' || stateOf(row) === state) && nameOf(row).toLowerCase().includes(wanted));
  const all = [...groups, ...found.filter((row) => !isGrouped(row))];
  const sorted = all.toSorted((one, other) => RANKS[stateOf(one)] - RANKS[stateOf(other)]);
  const rest = sorted.slice(most).map(stateOf);
  const count = (of: JobState): number => rest.filter((one) => one === of).length;
  const behind = view.lanes.reduce((sum, lane) => sum + lane.behind, 0);
  const inGroups = groups.reduce((sum, { waiting }) => sum + waiting, 0);
  const twice = keysTwice(view);
  return {
    rows: sorted.slice(0, most).map((row) => ({
      key: row.kind === 'walk' ? row.request : row.kind === 'group' ? `${row.pipeline} ${row.name}` : `${row.pipeline} keys`,
      state: stateOf(row),
      ...(row.kind === 'group'
        ? groupRow(row, view, times)
        : row.kind === 'keys'
          ? keysRow(row, view, times)
          : walkRow(row, view, times, twice.has(`${row.pipeline} ${row.key}`))),
    })),
    others: {
      working: count('working'),
      failed: count('failed'),
      done: count('done'),
      waiting: isAll ? Math.max(0, behind - inGroups) : 0,
    },
  };
}

/** A group of several jobs. `waiting`: number of jobs that haven't started. */
interface GroupRow extends JobGroup {
  readonly kind: 'group';
  readonly pipeline: string;
  readonly name: string;
  readonly doing: Doing | undefined;
  readonly waiting: number;
}

/** The groups that have more than one job, or that don't have one yet. */
function groupRows({ pipelines, work }: RunView): readonly GroupRow[] {
  return Object.entries(pipelines).flatMap(([pipeline, { groups = {} }]) =>
    Object.entries(groups).flatMap(([name, group]): GroupRow[] => {
      if (jobsOf(group) === 1 && group.isExact) return [];
      const own = work.filter((row) => row.kind === 'walk' && row.pipeline === pipeline && row.group === name);
      const doings = own.flatMap(({ doing }) => doing ?? []);
      const doing =
        (['requesting', 'retrying'] as const).map((state) => doings.find((one) => one.state === state)).find(Boolean) ?? doings[0];
      return [
        { ...group, kind: 'group', pipeline, name, doing, waiting: group.left - own.filter((row) => stateOf(row) === 'working').length },
      ];
    }),
  );
}

function jobsOf({ done, failed, left }: JobGroup): number {
  return done + failed + left;
}

/** `22 of 360`, `22 of at least 360, 1 failed`: the ended jobs of a group, and all of them. `what`: singular noun after the number. */
export function groupWords(group: JobGroup, what?: string): string {
  const { done, failed, isExact } = group;
  const jobs = what === undefined ? groupedNumber(jobsOf(group)) : countWords(jobsOf(group), what);
  const all = `${groupedNumber(done + failed)} of ${isExact ? '' : 'at least '}${jobs}`;
  return failed === 0 ? all : `${all}, ${groupedNumber(failed)} failed`;
}

function groupRow(row: GroupRow, view: RunView, times: TimeWords): TableRow {
  const { name, pipeline, done, failed, left, items, isExact, doing } = row;
  const all = jobsOf(row);
  const note =
    doing !== undefined
      ? { note: doingWords(doing, view.now, times) }
      : left === 0 && isExact
        ? { note: 'done', tone: 'good' as const }
        : { note: left === 0 ? 'waits for records of other streams' : 'waits for its turn' };
  return {
    name: safeText(name),
    ...(isExact && all > 0 && { share: (done + failed) / all }),
    progress: all === 0 ? 'no job yet' : groupWords(row),
    amount: items > 0 ? itemsWords(items, pipeline, unitsOf(view)) : '',
    ...note,
  };
}

/** The rows that fit in `most` lines. If jobs are left over, `rest` counts them and takes the last line. */
export function firstRows({ rows, others }: Jobs, most: number): { readonly rows: readonly JobRow[]; readonly rest: string } {
  const isAll = othersWords(others) === '';
  const shown = rows.slice(0, Math.max(0, isAll && rows.length <= most ? most : most - 1));
  const cut = rows.slice(shown.length);
  const count = (state: JobState): number => others[state] + cut.filter((row) => row.state === state).length;
  const all = { working: count('working'), failed: count('failed'), done: count('done'), waiting: others.waiting };
  return { rows: shown, rest: othersWords(all) };
}

/** `and 174 more: 167 working, 7 waiting for their turn`; empty if there are none. */
export function othersWords(others: Jobs['others']): string {
  const said = Object.entries(others).flatMap(([state, count]) =>
    count === 0 ? [] : [`${groupedNumber(count)} ${state === 'waiting' ? 'waiting for their turn' : state}`],
  );
  const total = totalOf(others);
  return total === 0 ? '' : `and ${groupedNumber(total)} more: ${said.join(', ')}`;
}

function stateOf(row: WorkRow | GroupRow): JobState {
  if (row.kind === 'group') return row.left > 0 || !row.isExact ? 'working' : row.failed > 0 && row.done === 0 ? 'failed' : 'done';
  if (row.doing !== undefined) return 'working';
  if (row.kind === 'walk' && row.state === 'failed') return 'failed';
  return row.kind === 'walk' && row.state === 'working' ? 'working' : 'done';
}

function nameOf(row: WorkRow): string {
  return row.kind === 'walk' ? row.key : `${row.pipeline} keys`;
}

/** The keys that more than one job of a pipeline has, each as `<pipeline> <key>`. */
function keysTwice({ work }: RunView): ReadonlySet<string> {
  const twice = new Set<string>();
  const seen = new Set<string>();
  for (const row of work) {
    const name = `${row.pipeline} ${row.kind === 'walk' ? row.key : ''}`;
    if (seen.has(name)) twice.add(name);
    seen.add(name);
  }
  return twice;
}

function walkRow(row: WalkRow, view: RunView, times: TimeWords, isTwice: boolean): TableRow {
  const { key, request, pages, items, expected, state } = row;
  const name = isTwice ? `${key} #${request.slice(request.lastIndexOf('-') + 1)}` : key;
  const isKnown = state === 'working' && expected !== undefined;
  const share = state === 'completed' && pages > 0 ? 1 : isKnown ? pages / Math.max(1, expected) : undefined;
  const pagesText = isKnown ? `${groupedNumber(pages)} of ~${groupedNumber(expected)} pages` : pages === 0 ? '' : countWords(pages, 'page');
  return {
    name: safeText(name),
    ...(share !== undefined && { share }),
    progress: pagesText === '' && state === 'working' ? 'first page' : pagesText,
    amount: items > 0 ? itemsWords(items, row.pipeline, unitsOf(view)) : '',
    ...noteOf(row, view.now, times),
  };
}

function noteOf(row: WalkRow, now: number, times: TimeWords): { readonly note: string; readonly tone?: Tone } {
  if (row.doing !== undefined) return { note: doingWords(row.doing, now, times) };
  if (row.state === 'failed') {
    return { note: `failed: ${reasonWithout(row.key, row.error ?? { code: '', message: '' })}`, tone: 'bad' };
  }
  return row.state === 'completed' ? { note: 'done', tone: 'good' } : { note: '' };
}

function keysRow(row: Extract<WorkRow, { kind: 'keys' }>, view: RunView, times: TimeWords): TableRow {
  const { pipeline, answered, known, doing, isExact } = row;
  const isDone = isExact && answered >= known;
  return {
    name: `${pipeline} keys`,
    ...(isExact && { share: known === 0 ? 1 : answered / known }),
    progress: isExact ? `${groupedNumber(answered)} of ${groupedNumber(known)}` : groupedNumber(answered),
    amount: Object.keys(row.records).length === 0 ? '' : countsWords(row.records),
    ...(isDone ? { note: 'done', tone: 'good' as const } : { note: doing === undefined ? '' : doingWords(doing, view.now, times) }),
  };
}

/**
 * Progress and forecast: `62 % of 1,224 requests, done at 14:20:00`. With unknown sizes, the minimum of both and the maximum speed. During a
 * stop, only the number of finished requests.
 */
export function progressWords(view: RunView, times: TimeWords): string {
  const { done, left, isExact } = view.progress;
  if (done + left === 0) return '';
  // During a stop this run releases its lanes, so `left` doesn't cover all remaining work.
  if (view.isStopping) return `${countWords(done, 'request')} done`;
  if (isExact && left === 0) return `all ${countWords(done, 'request')} done`;
  const when = finishWords(view, times);
  if (isExact) return `${percentWords(done / (done + left))} of ${countWords(done + left, 'request')}${when === '' ? '' : `, ${when}`}`;
  if (left === 0) return `${countWords(done, 'request')} done`;
  const all = Object.entries(view.pipelines);
  const rates = all.flatMap(([name, one]) => {
    const said = one.progress.isExact ? [] : rateWords(name, one, view.budgets);
    return said.map((rate) => (all.length === 1 ? rate : `${name}: ${rate}`));
  });
  const least = when === '' ? ', finish time not known yet' : `, ${when} or later`;
  // A lane that has failed leaves its jobs to the next run, and its fault says so.
  const finish = view.failedLanes.length === 0 ? least : '';
  return [`${countWords(done, 'request')} done, at least ${groupedNumber(left)} left${finish}`, ...rates].join('; ');
}

/** `done at 14:20:00`, or `done 9 h after crm is back`. Empty if unknown, or if it is a minimum of less than a second, which says nothing. */
function finishWords(view: RunView, times: TimeWords): string {
  const { now } = view;
  const { doneAt, isExact } = view.progress;
  if (doneAt === undefined || (!isExact && doneAt - now < 1_000)) return '';
  const failing = failingPipelines(view).map(({ pipeline }) => pipeline);
  if (failing.length === 0) return `done at ${times.when(doneAt, now)}`;
  return `done ${durationWords(doneAt - now)} after ${failing.join(' and ')} ${failing.length === 1 ? 'is' : 'are'} back`;
}

/** `at most 75,000 ids in 15 m`, or `at most 3 requests a second and 5,000 requests in 1 d`: a pipeline's maximum speed. */
export function rateWords(
  pipeline: string,
  { unit, pageItems }: { readonly unit: string; readonly pageItems?: number | undefined },
  budgets: readonly Pick<Budget, 'pipeline' | 'limit' | 'windowMs' | 'unit'>[],
): string[] {
  const own = budgets.filter((one) => one.pipeline === pipeline && one.unit === undefined && one.limit > 0);
  const limits = Array.from(
    Map.groupBy(own, ({ windowMs }) => windowMs),
    ([windowMs, all]) => ({ windowMs, limit: all.reduce((sum, { limit }) => sum + limit, 0) }),
  ).toSorted((a, b) => a.windowMs - b.windowMs);
  if (limits.length === 0) return [];
  const most = limits
    // A longer window matters only if it permits fewer requests than the shorter ones do in the same time.
    .filter(({ windowMs, limit }, i) => limits.slice(0, i).every((shorter) => limit / windowMs < shorter.limit / shorter.windowMs))
    .map(({ windowMs, limit }) => {
      const amount = pageItems === undefined ? countWords(limit, 'request') : itemsWords(limit * pageItems, pipeline, { [pipeline]: unit });
      return `${amount} ${windowMs === 60_000 ? 'a minute' : windowMs === 1_000 ? 'a second' : `in ${durationWords(windowMs)}`}`;
    });
  return [`at most ${most.join(' and ')}`];
}

/** A budget's label: its pipeline, its credential or `all credentials`, and the budget's own name unless that is `rate`. */
export function budgetName({ pipeline, credential, budget }: Pick<Budget, 'pipeline' | 'credential' | 'budget'>): string {
  return `${pipeline} ${credential === undefined ? 'all credentials' : safeText(credential, 40)}${budget === 'rate' ? '' : ` ${safeText(budget, 40)}`}`;
}

export interface BudgetRow extends TableRow {
  /** `in 15 m`; empty for a budget that resets at a time of day. */
  readonly window: string;
  /** `everything waits for this`, `resets at 00:00:00`, or empty. */
  readonly why: string;
}

/** A row for each budget. A budget that blocks work says so in its row. */
export function budgetRows({ budgets, now }: RunView, waits: readonly Wait[], times: TimeWords): readonly BudgetRow[] {
  const digits = Math.max(0, ...budgets.map((one) => groupedNumber(one.used).length));
  return budgets.map((budget) => {
    const { used, limit, unit, resetsAt, windowMs } = budget;
    const holds = waits.find((wait) => wait.budget === budget)?.what;
    const why =
      holds !== undefined ? `${waitWords(holds)} for this` : resetsAt === undefined ? '' : `resets at ${times.when(resetsAt, now)}`;
    return {
      name: budgetName(budget),
      share: limit > 0 ? used / limit : 1,
      progress: `${groupedNumber(used).padStart(digits)} / ${groupedNumber(limit)}${unit === undefined ? '' : ` ${safeText(unit, 20)}`}`,
      amount: '',
      window: resetsAt === undefined ? `in ${durationWords(windowMs)}` : '',
      note: freeWords(budget, now, times),
      why,
      ...(holds !== undefined && { tone: 'wait' as const }),
    };
  });
}

function freeWords({ freeAt, used, limit }: Budget, now: number, times: TimeWords): string {
  if (freeAt !== undefined && freeAt > now) return `next at ${times.when(freeAt, now)}`;
  return freeAt === undefined && used >= limit ? 'next when a response arrives' : '';
}

function waitWords(holds: string): string {
  return holds === 'everything' ? 'everything waits' : `${holds} waits`;
}

/** A budget that delays the next request of a pipeline whose open work all waits for budgets. */
export interface Wait {
  readonly budget: Budget;
  /** The delayed work: `everything`, or the pipeline's name. */
  readonly what: string;
}

export function waitsOf({ work, budgets, now }: RunView): readonly Wait[] {
  const open = work.filter(({ doing }) => doing !== undefined);
  const pipelines = [...new Set(open.map(({ pipeline }) => pipeline))];
  return pipelines.flatMap((pipeline): readonly Wait[] => {
    const isHeld = open.every((row) => row.pipeline !== pipeline || (row.doing?.state === 'waiting' && row.doing.for === 'budget'));
    const among = credentialsOf(open.filter((row) => row.pipeline === pipeline));
    const own = budgets.filter(
      (one) => one.pipeline === pipeline && (one.credential === undefined || among?.has(one.credential) !== false),
    );
    // Credentials can replace each other, but budgets of one credential can't.
    const first = [...Map.groupBy(own, ({ budget }) => budget).values()].flatMap((same) => {
      const soonest = same.toSorted((one, other) => freeAt(one) - freeAt(other))[0];
      return soonest !== undefined && same.every((one) => isHolding(one, now)) ? [soonest] : [];
    });
    const last = first.toSorted((one, other) => freeAt(other) - freeAt(one))[0];
    return isHeld && last !== undefined ? [{ budget: last, what: pipelines.length === 1 ? 'everything' : pipeline }] : [];
  });
}

/** The credentials that jobs wait for; undefined if one of the jobs can use any credential. */
function credentialsOf(rows: readonly WorkRow[]): ReadonlySet<string> | undefined {
  const all = rows.map(({ doing }) => (doing?.state === 'waiting' ? doing.credentials : undefined));
  return all.includes(undefined) ? undefined : new Set(all.flatMap((names = []) => names));
}

function isHolding(budget: Budget, now: number): boolean {
  return budget.freeAt === undefined ? budget.used >= budget.limit : budget.freeAt > now;
}

function freeAt(budget: Budget): number {
  return budget.freeAt ?? Infinity;
}

const IDLE_AFTER_MS = 2_000;

/** Whether no job is in progress or waiting, and no event has occurred for 2 s. */
export function isIdle({ lanes, now, lastEventAt }: RunView): boolean {
  return now - lastEventAt > IDLE_AFTER_MS && lanes.every(({ inWork, behind }) => inWork + behind === 0);
}

/**
 * The held lanes: `lane 2`, `lanes 0 1 2 3`, `lanes followers 0 to 7, books 0`, `no lane`. Empty for one lane per pipeline, unless this
 * process has left a lane.
 */
export function lanesWords({ lanes, isLaneLeft }: Pick<RunView, 'lanes' | 'isLaneLeft'>): string {
  const byPipeline = Map.groupBy(lanes, ({ pipeline }) => pipeline);
  const numbers = [...byPipeline].map(([name, own]) => [name, numbersWords(own.map(({ lane }) => lane))] as const);
  if (!isLaneLeft && lanes.length === byPipeline.size) return '';
  const [first] = numbers;
  if (first === undefined) return 'no lane';
  if (lanes.length === 1) return `lane ${first[1]}`;
  if (new Set(numbers.map(([, said]) => said)).size === 1 && numbers.length > 1) return `lanes ${first[1]}`;
  return `lanes ${numbers.map(([name, said]) => (numbers.length === 1 ? said : `${name} ${said}`)).join(', ')}`;
}

/** Lists the numbers in ascending order, and shortens more than four consecutive ones to `0 to 7`. */
function numbersWords(numbers: readonly number[]): string {
  const runs: [first: number, last: number][] = [];
  for (const number of numbers.toSorted((one, other) => one - other)) {
    const run = runs.at(-1);
    if (run?.[1] === number - 1) run[1] = number;
    else runs.push([number, number]);
  }
  const said = ([first, last]: [number, number]): string =>
    last - first < 4 ? Array.from({ length: last - first + 1 }, (_, i) => first + i).join(' ') : `${first} to ${last}`;
  return runs.map(said).join(' ');
}
