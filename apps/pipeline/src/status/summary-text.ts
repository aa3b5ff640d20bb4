import type { Reason } from '@headgate/pipeline';
import { elsewhereWords, itemsWords, reasonWithout } from './format-event.ts';
import { type CommandFor, olderOpenDeadLetters, openDeadLetterLines } from './open-dead-letters.ts';
import type { RunView } from './run-view.ts';
import { displayWidth, padWidth } from './text/cells.ts';
import { durationWords } from './text/duration-words.ts';
import { countWords, groupedNumber, totalOf } from './text/number-words.ts';
import { safeText } from './text/safe-text.ts';
import { failingPipelines } from './format-outage.ts';
import { lanesWords, unitsOf } from './format-row.ts';

export interface SummaryOptions {
  /** The run after its end. */
  readonly view: RunView;
  /** Returns the name of a topic in the log. Default: the topic's own name. */
  readonly names?: (topic: string) => string;
  readonly commandFor: CommandFor;
  /** How the run ended: all jobs are done, it was stopped before, or it couldn't continue. */
  readonly outcome: 'done' | 'stopped' | 'failed';
  /** The chosen jobs, as `PIPELINE` or `PIPELINE:KEY`. Default: all. */
  readonly only?: string;
  /** Names of the pipelines whose lists aren't empty. Default: all. */
  readonly listing?: readonly string[];
  /** Whether the same command continues with the remaining work. Default true. */
  readonly canContinue?: boolean;
}

const NAMED_FAILURES = 10;

/** Describes the end of a run: its results and their topics, failures with their reasons, and what to do next. */
export function summaryText(options: SummaryOptions): string {
  const { view, outcome, canContinue = true, names = (topic) => topic } = options;
  const isOver = outcome === 'done';
  const read = (topic: string): string => safeText(options.commandFor('read', topic), 1000);
  const open = openDeadLetterLines(olderOpenDeadLetters(view), options.commandFor).map((words) => `${'Still open:'.padEnd(18)}${words}`);
  const last = topicToRead(view, names);
  const reading = last === undefined ? [] : [`${'Read it:'.padEnd(18)}${read(last)} --max 10`];
  if (isOver && didNothing(view) && view.logUnavailable === undefined) {
    const again = view.lanesElsewhere === 0 && options.only?.includes(':') !== true ? askAgainLines(options) : [];
    return [nothingWords(view, options.only), ...again, ...open, ...elsewhere(view)].join('\n');
  }
  const arrived = arrivals(view, names, isOver);
  const { walks, answered } = totalsOf(view);
  const didFail = isOver && walks.failed > 0 && walks.completed + answered === 0;
  const title = `${isOver ? (didFail ? 'Failed after' : 'Done in') : 'Stopped after'} ${durationWords(view.elapsedMs)}: `;
  return [
    ...block(title, arrived.length > 0 ? arrived : [{ what: 'nothing was written', where: '' }]),
    ...requestLine(view),
    ...failures(view, names, options.commandFor),
    ...open,
    ...unreachedLog(view),
    ...(isOver ? [] : failingServices(view)),
    ...elsewhere(view),
    ...(!isOver && canContinue ? [continueLine(view)] : []),
    ...reading,
  ].join('\n');
}

function totalsOf({ pipelines }: RunView) {
  const all = Object.values(pipelines);
  const sum = (of: (one: (typeof all)[number]) => number): number => all.reduce((total, one) => total + of(one), 0);
  return {
    walks: {
      started: sum(({ walks }) => walks.started),
      completed: sum(({ walks }) => walks.completed),
      failed: sum(({ walks }) => walks.failed),
    },
    pages: sum(({ pages }) => pages),
    answered: sum(({ keys }) => keys.answered),
    records: sum(({ records }) => totalOf(records)),
    attempts: sum(({ attempts }) => totalOf(attempts)),
  };
}

/** Whether a run has taken no job and sent no request. */
export function didNothing(view: RunView): boolean {
  const { walks, pages, answered, records, attempts } = totalsOf(view);
  return walks.started + walks.failed + pages + answered + records + attempts + view.deadLetters.total === 0;
}

function nothingWords(view: RunView, only?: string): string {
  const { lanes, lanesElsewhere } = view;
  if (lanesElsewhere === 0)
    return `Nothing to do: earlier runs have finished all jobs${only === undefined ? '' : ` of ${safeText(only)}`}.`;
  if (lanes.length === 0) return 'Nothing was done here: other processes of the group hold all lanes.';
  const own = lanesWords({ lanes, isLaneLeft: true });
  return `Nothing to do here: earlier runs finished all jobs of ${own} that this process had.`;
}

/** The commands that request each pipeline's list again, and what repeats them automatically. */
function askAgainLines({ view: { about }, listing, only, commandFor }: SummaryOptions): string[] {
  const commands = about.pipelines.map(({ name }) => {
    if (listing?.includes(name) === false) return commandFor('enqueue', name);
    return commandFor('run', `--again ${name}${only === undefined ? '' : ` --only ${only}`}`);
  });
  const once = about.pipelines.filter(({ name, everyMs }) => everyMs === undefined && listing?.includes(name) !== false);
  const repeated = about.pipelines.flatMap(({ name, everyMs }) =>
    everyMs === undefined ? [] : [`${safeText(name)} is requested again ${durationWords(everyMs)} after it was (every).`],
  );
  const repeats =
    once.length === 0 ? [] : [`To repeat, set every, such as every: 24h, in ${once.map(({ name }) => safeText(name)).join(', ')}.`];
  return [...commands.map((command) => safeText(command, 1_000)), ...repeats, ...repeated].map(
    (line, i) => `${(i === 0 ? 'To ask again:' : '').padEnd(18)}${line}`,
  );
}

function elsewhere({ lanes, lanesElsewhere }: RunView): string[] {
  if (lanes.length === 0 || lanesElsewhere === 0) return [];
  return [`${'Elsewhere:'.padEnd(18)}${elsewhereWords(lanesElsewhere)}.`];
}

/** Unfinished crawls, started or not. `count` is a minimum if `isExact` is false. */
interface WalksLeft {
  readonly count: number;
  readonly isExact: boolean;
}

/** Counts the unfinished crawls of all pipelines, or of the pipeline `of`. */
function walksLeft({ work, lanes }: RunView, of?: string): WalksLeft {
  const isOf = ({ pipeline }: { readonly pipeline: string }): boolean => of === undefined || pipeline === of;
  const begun = work.filter((row) => row.kind === 'walk' && row.state === 'working' && isOf(row)).length;
  const own = lanes.filter(isOf);
  return { count: own.reduce((sum, { behind }) => sum + behind, begun), isExact: own.every(({ isCounted }) => isCounted) };
}

interface Arrival {
  readonly what: string;
  readonly where: string;
}

/** The results of each pipeline that has any. `isOver`: no work is left. */
function arrivals(view: RunView, names: (topic: string) => string, isOver: boolean): Arrival[] {
  return Object.entries(view.pipelines).flatMap(([name, { walks, pages, items, keys, records }]) => {
    const left = isOver ? undefined : walksLeft(view, name);
    const ended = walks.completed + walks.failed;
    // Crawls of a released lane are no longer counted in `left`.
    const all = Math.max(walks.started, ended + (left?.count ?? 0));
    const isMore = left !== undefined && all > walks.completed;
    const about = left?.isExact === false ? 'at least ' : '';
    const jobs = isMore ? `${groupedNumber(walks.completed)} of ${about}${countWords(all, 'job')}` : countWords(walks.completed, 'job');
    const parts = [
      ...(walks.completed + pages > 0 ? [`${jobs}, ${countWords(pages, 'page')}, ${itemsWords(items, name, unitsOf(view))}`] : []),
      ...(keys.answered > 0 ? [countWords(keys.answered, 'key')] : []),
    ];
    const topics = Object.entries(records).map(([topic, count]) => `${safeText(names(`${name}.${topic}`))} (${groupedNumber(count)})`);
    return parts.length + topics.length === 0 ? [] : [{ what: parts.join('; ') || name, where: topics.join(', ') }];
  });
}

function block(title: string, list: readonly Arrival[]): string[] {
  const width = list.reduce((most, one) => Math.max(most, displayWidth(one.what)), 0);
  return list.map((one, index) => {
    const before = index === 0 ? title : ' '.repeat(title.length);
    return one.where === '' ? `${before}${one.what}.` : `${before}${padWidth(one.what, width)} -> ${one.where}`;
  });
}

function requestLine({ pipelines }: RunView): string[] {
  const attempts: Record<string, number> = {};
  const faults: Record<string, number> = {};
  const add = (to: Record<string, number>, from: Readonly<Record<string, number>>): void => {
    for (const [name, count] of Object.entries(from)) to[name] = (to[name] ?? 0) + count;
  };
  for (const one of Object.values(pipelines)) {
    add(attempts, one.attempts);
    add(faults, one.faults);
  }
  const total = totalOf(attempts);
  if (total === 0) return [];
  const { ok = 0, gone = 0 } = attempts;
  const inFaults = totalOf(faults);
  const rest = total - ok - gone - inFaults;
  const named = Object.entries(faults)
    .toSorted(([, one], [, other]) => other - one)
    .map(([status, count]) => faultWords(status, count));
  const parts = [
    ok + gone > 0 ? `${groupedNumber(ok + gone)} answered` : '',
    inFaults > 0 ? `${groupedNumber(inFaults)} failed (${named.join(', ')})` : '',
    rest > 0 ? `${groupedNumber(rest)} returned an error` : '',
  ].filter((part) => part !== '');
  const refused = attempts['rate-limited'] ?? 0;
  const { ambiguous = 0 } = attempts;
  const perhaps = ambiguous === 0 ? '' : `, ${groupedNumber(ambiguous)} more may have been`;
  const none = ambiguous === 0 ? 'None was rate-limited' : `${countWords(ambiguous, 'request')} may have been rate-limited`;
  const rate = refused === 0 ? none : `${countWords(refused, 'request')} ${refused === 1 ? 'was' : 'were'} rate-limited${perhaps}`;
  return [`${countWords(total, 'request')}: ${parts.join(', ')}. ${rate}.`];
}

function faultWords(status: string, count: number): string {
  if (status === 'none') return `${groupedNumber(count)} without a response`;
  return status.startsWith('2') ? `${groupedNumber(count)} with an unreadable response` : `${countWords(count, 'time', 'times')} ${status}`;
}

/** Lines about the failed crawls of each pipeline, and about dead letters that don't belong to a failed crawl. */
function failures({ pipelines, work, deadLetters }: RunView, names: (topic: string) => string, commandFor: CommandFor): string[] {
  return Object.entries(pipelines).flatMap(([name, { walks, deadLetters: count }]) => {
    const topic = names(`${name}.dead-letters`);
    const rows = work.flatMap((row) => (row.kind === 'walk' && row.state === 'failed' && row.pipeline === name ? [row] : []));
    const failed = new Set(rows.map(({ key }) => key));
    const others = deadLetters.last.filter((one) => one.topic === topic && !failed.has(one.key));
    return [
      ...failureLines(name, `${countWords(walks.failed, 'job')} failed:`, walks.failed, rows, commandFor),
      ...failureLines(name, `${countWords(count - walks.failed, 'dead letter')}:`, count - walks.failed, others, commandFor),
    ];
  });
}

/** `known`: failures, of which the last ones are shown. */
function failureLines(
  pipeline: string,
  title: string,
  total: number,
  known: readonly { readonly key: string; readonly error?: Reason }[],
  commandFor: CommandFor,
): string[] {
  if (total <= 0) return [];
  const shown = known.slice(-Math.min(NAMED_FAILURES, total)).map(({ key, error }) => ({
    name: safeText(key),
    reason: reasonWithout(key, error ?? { code: '', message: '' }),
  }));
  const width = shown.reduce((most, one) => Math.max(most, displayWidth(one.name)), 0);
  return [
    `${title.padEnd(17)} ${safeText(commandFor('dead-letters', pipeline), 1000)}`,
    ...shown.map((one) => `  ${padWidth(one.name, Math.min(width, 24))}  ${one.reason}`),
    ...(total > shown.length ? [`  and ${groupedNumber(total - shown.length)} more`] : []),
    `${'  To retry:'.padEnd(18)}${safeText(commandFor('replay', pipeline), 1000)}`,
  ];
}

function unreachedLog({ logUnavailable, now }: RunView): string[] {
  if (logUnavailable === undefined) return [];
  const { driver, since, reason } = logUnavailable;
  const title = driver === 'kafka' ? 'Log not reached:  kafka, ' : 'Log not written:  ';
  return [`${title}for the last ${durationWords(now - since)} (${safeText(reason)}): data that isn't in it yet is requested again.`];
}

/** A line for each service that was failing at the end: since when, and how many crawls are unfinished. */
function failingServices(view: RunView): string[] {
  return failingPipelines(view).map(({ pipeline, since, attempts, reason }) => {
    const { count, isExact } = walksLeft(view, pipeline);
    const left = count === 0 ? 'The remaining work' : `${isExact ? '' : 'At least '}${countWords(count, 'job')}`;
    const tried = `every attempt failed for the last ${durationWords(view.now - since)} (${countWords(attempts, 'attempt')})`;
    return `${'Waited for:'.padEnd(18)}${pipeline}: ${tried}: ${safeText(reason, 200)}. ${left} ${count > 1 ? 'stay' : 'stays'} for the next run.`;
  });
}

function continueLine(view: RunView): string {
  const { work } = view;
  const { count, isExact } = walksLeft(view);
  const open = work.flatMap((row) => (row.kind === 'walk' && row.state === 'working' ? [row] : []));
  const named = open.slice(0, 3).map(({ key, pages }) => `${safeText(key)} at page ${groupedNumber(pages + 1)}`);
  const more = count > named.length ? ` and ${isExact ? '' : 'at least '}${groupedNumber(count - named.length)} more` : '';
  const where = named.length === 0 ? 'where this one stopped' : `with ${named.join(', ')}${more}`;
  return `${'To continue:'.padEnd(18)}run the same command again: it continues ${where}.`;
}

/** The topic with the most records, other than jobs, of the first pipeline that wrote any. */
function topicToRead({ pipelines }: RunView, names: (topic: string) => string): string | undefined {
  for (const [name, { records }] of Object.entries(pipelines)) {
    const results = Object.entries(records).filter(([topic]) => topic !== 'requests');
    const [most] = results.toSorted(([, one], [, other]) => other - one);
    if (most !== undefined && most[1] > 0) return names(`${name}.${most[0]}`);
  }
  return undefined;
}
