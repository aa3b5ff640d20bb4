import { eventText, itemsWords, reasonWithout } from '../format-event.ts';
import { type JobRow, othersWords, unitsOf } from '../format-row.ts';
import type { Fault as HttpFault } from '../run-history.ts';
import type { RunView } from '../run-view.ts';
import { type Screen, type ScreenOptions, screenOf } from '../screen.ts';
import { durationWords } from '../text/duration-words.ts';
import { countWords, groupedNumber, percentWords } from '../text/number-words.ts';
import type { Tone } from '../text/table.ts';
import type { TimeWords } from '../text/time-words.ts';

/** The screen with the parts that only the page shows. `page.mjs` draws it. */
export interface PageScreen extends Omit<Screen, 'jobs'> {
  readonly rows: readonly JobRow[];
  /** Counts the jobs without a row, or says that there are none. */
  readonly rest: string;
  readonly title: string;
  /** The configuration with the log, the lanes, and how long the run has lasted. */
  readonly run: readonly string[];
  readonly totals: readonly string[];
  /** Failed HTTP requests, by kind. */
  readonly errors: readonly Row[];
  /** Commands that retry dead letters. */
  readonly retries: readonly string[];
  readonly deadLetters: readonly Row[];
  readonly events: readonly EventRow[];
  readonly about: readonly (readonly [name: string, value: string])[];
}

interface Row {
  readonly key: string;
  readonly name: string;
  readonly cells: readonly string[];
  /** Whether requests still fail this way. */
  readonly isOngoing?: boolean;
}

interface EventRow {
  readonly key: string;
  readonly at: string;
  readonly words: string;
  readonly tone?: Tone;
}

export function pageScreen(view: RunView, { times, commandFor, jobs: filter }: ScreenOptions): PageScreen {
  const { jobs, ...screen } = screenOf(view, { times, commandFor, jobs: filter });
  const { state, progress, lanes, elapsed } = screen;
  const { about, startedAt, now, outcome } = view;
  const share = progress.share === undefined || outcome !== undefined ? [] : [percentWords(progress.share)];
  const ran = outcome === undefined ? 'running for' : 'ran for';
  const none = filter.text !== '' || filter.state !== 'all' ? 'No active job matches the filter.' : 'No job is active.';
  return {
    ...screen,
    rows: jobs.rows,
    rest: othersWords(jobs.others) || (jobs.rows.length === 0 ? none : ''),
    title: [...share, state.words, 'headgate'].join(' · '),
    run: [`${about.config} -> ${about.log}`, lanes, `${ran} ${elapsed}, since ${times.when(startedAt, now)}`].filter(
      (words) => words !== '',
    ),
    totals: totals(view),
    errors: view.history.faults.map((fault) => errorRow(fault, view, times)),
    retries: Object.entries(view.pipelines).flatMap(([name, { deadLetters: count }]) => (count === 0 ? [] : [commandFor('replay', name)])),
    deadLetters: deadLetters(view, times),
    events: events(view, times),
    about: aboutRows(view),
  };
}

function totals(view: RunView): string[] {
  return Object.entries(view.pipelines).map(([name, { walks, pages, items, keys }]) => {
    const keysSaid = keys.answered > 0 ? [`${countWords(keys.answered, 'key')} answered`] : [];
    const pagesSaid = [`${countWords(walks.completed, 'job')} done`, countWords(pages, 'page'), itemsWords(items, name, unitsOf(view))];
    return `${name}: ${[...(walks.started > 0 || keysSaid.length === 0 ? pagesSaid : []), ...keysSaid].join(', ')}`;
  });
}

function errorRow({ pipeline, outcome, status, count, since, last, reason }: HttpFault, view: RunView, times: TimeWords): Row {
  const failing = view.pipelines[pipeline]?.failing;
  const isOngoing = outcome === 'transient' && failing !== undefined && last >= failing.since;
  const when = isOngoing ? `ongoing since ${times.when(failing.since, view.now)}` : times.when(last, view.now);
  return {
    key: `${pipeline} ${outcome} ${status ?? ''}`,
    name: `${pipeline} ${status === undefined ? 'no response' : status < 300 ? 'unreadable response' : status}`,
    cells: [groupedNumber(count), times.when(since, view.now), when, reason],
    isOngoing,
  };
}

function deadLetters({ deadLetters: { total, last }, now }: RunView, times: TimeWords): Row[] {
  return last
    .map(({ at, topic, key, error }, i) => ({
      key: `${total - last.length + i + 1}`,
      name: key,
      cells: [times.when(at, now), error.code, reasonWithout(key, error), topic],
    }))
    .toReversed();
}

/** The latest events first. Consecutive events with the same words share a row with their number and the time of the last one. */
function events(view: RunView, times: TimeWords): EventRow[] {
  const units = unitsOf(view);
  const lines: { key: string; at: number; words: string; tone: Tone | undefined; count: number }[] = [];
  for (const { number, at, event } of view.history.events) {
    const { words, level } = eventText(event, units);
    const before = lines.at(-1);
    const tone = level === 'info' ? undefined : level === 'warn' ? 'wait' : 'bad';
    if (before?.words === words) Object.assign(before, { at, count: before.count + 1 });
    else lines.push({ key: `${number}`, at, words, tone, count: 1 });
  }
  return lines.toReversed().map(({ key, at, words, tone, count }) => ({
    key,
    at: times.when(at, view.now),
    words: count === 1 ? words : `${words} (${countWords(count, 'time')})`,
    ...(tone !== undefined && { tone }),
  }));
}

function aboutRows({ about: { version, host, pid, config, log, group, lanes, pipelines } }: RunView): PageScreen['about'] {
  return [
    ['Version', version],
    ['Runs as', `process ${pid} on ${host}`],
    ['Group', `${group}, ${countWords(lanes, 'lane')}`],
    ['Configuration', config],
    ['Log', log],
    ...pipelines.map(
      ({ name, credentials, everyMs, maxOutstanding }) =>
        [
          name,
          [
            ...(credentials === undefined ? [] : [`${countWords(credentials.length, 'credential')}: ${credentials.join(', ')}`]),
            everyMs === undefined ? 'lists requested once' : `lists requested every ${durationWords(everyMs)}`,
            `at most ${groupedNumber(maxOutstanding)} items requested and not yet written`,
          ].join('; '),
        ] as const,
    ),
  ];
}
