import type { WorkRow } from '@headgate/pipeline';
import { type CommandFor, openLetterLines } from '../open-letters.ts';
import { itemsWords, reasonWithout, told } from '../event-words.ts';
import { type RunState, runState } from '../run-state.ts';
import type { Fault, Minute } from '../run-history.ts';
import type { RunView } from '../run-view.ts';
import { durationWords, elapsedWords } from '../text/duration-words.ts';
import { countWords, groupedNumber, percentWords } from '../text/number-words.ts';
import type { TimeWords } from '../text/time-words.ts';
import { RANKS, budgetRows, lanesWords, progressWords, restWords, rowWords, standing, unitsOf, waits } from '../view-words.ts';
import { type Html, markup } from './markup.ts';
import { minutesChart } from './minutes-chart.ts';
import type { WorkFilter } from './work-filter.ts';

/** The children of a page element, in order, each an element with its own key. */
export type Part = ReadonlyMap<string, string>;

/** Everything that changes on the page. */
export interface PageFrame {
  readonly title: string;
  readonly state: RunState;
  /** By the id of their element. */
  readonly parts: ReadonlyMap<string, Part>;
}

export interface PartsOptions {
  readonly times: TimeWords;
  readonly commandFor: CommandFor;
}

/** The page but for its requests: the same for all who look. */
export function sharedParts(view: RunView, options: PartsOptions): PageFrame {
  const { times } = options;
  const { progress } = view;
  const state = runState(view, times);
  const isKnown = progress.isExact && progress.done + progress.left > 0;
  const share = progress.done / (progress.done + progress.left);
  const title = [...(isKnown && view.outcome === undefined ? [percentWords(share)] : []), state.words, 'headgate'].join(' · ');
  const parts = {
    head: head(view, state, isKnown ? share : undefined, times),
    waits: waits(view, times).map(
      ({ words, tone = '' }, i) => [`${i}`, markup`<li data-key="${i}" class="${tone}">${words}</li>`] as const,
    ),
    budgets: budgets(view, times),
    charts: charts(view, times),
    faults: view.history.faults.map((fault) => faultRow(fault, view, times)),
    letters: letters(view, times),
    replays: [
      ...openLetterLines(view.openDeadLetters ?? {}, options.commandFor).map(
        (words) => [words, markup`<p data-key="${words}" class="bad">${words}</p>`] as const,
      ),
      ...Object.keys(view.deadLetters.byTopic).map((topic) => {
        const command = options.commandFor('replay', topic);
        return [topic, markup`<p data-key="${topic}">To retry: <code>${command}</code></p>`] as const;
      }),
    ],
    events: events(view, times),
    about: about(view),
  };
  return {
    title,
    state,
    parts: new Map(Object.entries(parts).map(([id, children]) => [id, new Map(children.map(([key, child]) => [key, child.text]))])),
  };
}

/** The requests that a filter lets through, those in work first. */
export function workParts(view: RunView, { text, state, most }: WorkFilter, times: TimeWords): ReadonlyMap<string, Part> {
  const wanted = text.toLowerCase();
  const found = view.work.filter((row) => (state === 'all' || standing(row) === state) && nameOf(row).toLowerCase().includes(wanted));
  const sorted = found.toSorted((one, other) => RANKS[standing(one)] - RANKS[standing(other)]);
  const words = rowWords(view, times);
  const rows = sorted.slice(0, most).map((one) => {
    const key = one.kind === 'walk' ? one.request : `${one.pipeline} keys`;
    const { name, share, progress, amount, note, tone = '' } = words(one);
    const doneAt = one.kind === 'walk' && one.doneAt !== undefined ? times.when(one.doneAt, view.now) : '';
    const cells = [cell(bar(share, name), 'bar'), cell(progress), cell(amount, 'amount'), cell(doneAt, 'when'), cell(note, `note ${tone}`)];
    return [key, row(key, name, cells).text] as const;
  });
  const waiting = view.lanes.reduce((sum, { behind }) => sum + behind, 0);
  const isFiltered = text !== '' || state !== 'all';
  const none = isFiltered ? 'No active job matches the filter.' : 'No job is active.';
  const rest = restWords(sorted.slice(most), isFiltered ? 0 : waiting) || (rows.length === 0 ? none : '');
  return new Map([
    ['work', new Map(rows)],
    ['work-rest', new Map(rest === '' ? [] : [['rest', markup`<p data-key="rest">${rest}</p>`.text]])],
  ]);
}

type Child = readonly [key: string, child: Html];

function nameOf(row: WorkRow): string {
  return row.kind === 'walk' ? row.key : `${row.pipeline} keys`;
}

function head(view: RunView, state: RunState, share: number | undefined, times: TimeWords): Child[] {
  const {
    about: { config, log },
    startedAt,
    elapsedMs,
    now,
    pipelines,
  } = view;
  const totals = Object.entries(pipelines).map(([name, { walks, pages, items, keys }]) => {
    const keysSaid = keys.answered > 0 ? [`${countWords(keys.answered, 'key')} answered`] : [];
    const pagesSaid = [`${countWords(walks.completed, 'crawl')} done`, countWords(pages, 'page'), itemsWords(items, name, unitsOf(view))];
    return `${name}: ${[...(walks.started > 0 || keysSaid.length === 0 ? pagesSaid : []), ...keysSaid].join(', ')}`;
  });
  const ran = view.outcome === undefined ? 'running for' : 'ran for';
  const lines = [
    ['ran', [`${config} -> ${log}`, lanesWords(view), `${ran} ${elapsedWords(elapsedMs)}, since ${times.when(startedAt, now)}`]],
    ['totals', totals],
  ] as const;
  const progress = progressWords(view, times);
  return [
    ['state', markup`<h1 data-key="state">headgate <span class="chip ${state.tone ?? ''}">${state.words}</span></h1>`],
    ...lines.map(([key, said]): Child => [
      key,
      markup`<p data-key="${key}">${said.filter((words) => words !== '').map((words) => markup`<span>${words}</span> `)}</p>`,
    ]),
    ...(progress === ''
      ? []
      : [
          ['progress', markup`<p data-key="progress" class="whole">${bar(share, 'all requests')}<strong>${progress}</strong></p>`] as const,
        ]),
  ];
}

function row(key: string, name: string, cells: readonly Html[]): Html {
  return markup`<tr data-key="${key}"><th scope="row">${name}</th>${cells}</tr>`;
}

function cell(value: string | Html, classes = ''): Html {
  return classes === '' ? markup`<td>${value}</td>` : markup`<td class="${classes.trim()}">${value}</td>`;
}

function bar(share: number | undefined, name: string): Html | string {
  if (share === undefined) return '';
  return markup`<progress max="100" value="${Number((100 * Math.min(1, Math.max(0, share))).toFixed(1))}" aria-label="${name}"></progress>`;
}

function budgets(view: RunView, times: TimeWords): Child[] {
  return budgetRows(view, times).map(({ name, share, progress, note, tone = '' }, i) => {
    const { windowMs, resetsAt } = view.budgets[i] ?? { windowMs: 0 };
    const window = resetsAt === undefined ? `in ${durationWords(windowMs)}` : '';
    const cells = [
      cell(bar(share, name), 'bar'),
      cell(`${progress.trim()} ${window}`),
      cell(note.replace(/^<- /, '').replace(/ *<- /, ', '), `note ${tone}`),
    ];
    return [`${i}`, row(`${i}`, name, cells)];
  });
}

const SERIES = [
  { name: 'good', words: 'answered', outcomes: ['ok', 'gone'] },
  { name: 'wait', words: 'rate-limited', outcomes: ['rate-limited'] },
  { name: 'fault', words: 'failed', outcomes: ['transient'] },
  { name: 'bad', words: 'returned an error', outcomes: ['unauthorized', 'fatal'] },
] as const;

function charts({ history: { minutes }, startedAt, now, pipelines }: RunView, times: TimeWords): Child[] {
  if (minutes.length === 0) return [];
  const of = { minutes, startedAt, now, times };
  const requests = SERIES.map(({ name, words, outcomes }) => ({
    name,
    words,
    of: ({ attempts }: Minute) => outcomes.reduce((sum, outcome) => sum + (attempts[outcome] ?? 0), 0),
  }));
  const amounts = Object.entries(pipelines).flatMap(([name, { unit, items, keys }]) => [
    ...(items > 0 ? [{ name, unit, of: (minute: Minute) => minute.items[name] ?? 0 }] : []),
    ...(keys.answered > 0 ? [{ name, unit: 'keys', of: (minute: Minute) => minute.keys[name] ?? 0 }] : []),
  ]);
  return [
    ['requests', markup`<figure data-key="requests">${minutesChart({ ...of, what: 'Requests', series: requests })}</figure>`],
    ...amounts.map(({ name, unit, of: count }): Child => {
      const key = name === unit ? name : `${name}: ${unit}`;
      const series = [{ name: 'amount', words: unit, of: count }];
      return [key, markup`<figure data-key="${key}">${minutesChart({ ...of, what: key, series })}</figure>`];
    }),
  ];
}

function faultRow({ pipeline, outcome, status, count, since, last, reason }: Fault, view: RunView, times: TimeWords): Child {
  const key = `${pipeline} ${outcome} ${status ?? ''}`;
  const name = `${pipeline} ${status === undefined ? 'no response' : status < 300 ? 'unreadable response' : status}`;
  const failing = view.pipelines[pipeline]?.failing;
  const goesOn = outcome === 'transient' && failing !== undefined && last >= failing.since;
  const when = goesOn ? `ongoing since ${times.when(failing.since, view.now)}` : times.when(last, view.now);
  const first = times.when(since, view.now);
  const cells = [cell(groupedNumber(count)), cell(first, 'first'), cell(when, goesOn ? 'bad' : ''), cell(reason, 'note')];
  return [key, row(key, name, cells)];
}

function letters({ deadLetters: { total, last }, now }: RunView, times: TimeWords): Child[] {
  const rows = last.map(({ at, topic, key, error }, i): Child => {
    const number = `${total - last.length + i + 1}`;
    const cells = [cell(times.when(at, now)), cell(error.code), cell(reasonWithout(key, error), 'note'), cell(topic)];
    return [number, row(number, key, cells)];
  });
  return rows.toReversed();
}

/** The latest first; one that comes again and again is told once, with its number and its last time. */
function events(view: RunView, times: TimeWords): Child[] {
  const units = unitsOf(view);
  const tones = { info: '', warn: 'wait', error: 'bad' } as const;
  const lines: { key: string; at: number; words: string; tone: string; count: number }[] = [];
  for (const { number, at, event } of view.history.events) {
    const { words, level } = told(event, units);
    const before = lines.at(-1);
    if (before?.words === words) Object.assign(before, { at, count: before.count + 1 });
    else lines.push({ key: `${number}`, at, words, tone: tones[level], count: 1 });
  }
  return lines.toReversed().map(({ key, at, words, tone, count }) => {
    const often = count === 1 ? '' : ` (${countWords(count, 'time')})`;
    return [key, markup`<li data-key="${key}" class="${tone}"><time>${times.when(at, view.now)}</time> ${words}${often}</li>`];
  });
}

function about({ about: { version, host, pid, config, log, group, lanes, pipelines } }: RunView): Child[] {
  const facts = [
    ['Version', version],
    ['Runs as', `process ${pid} on ${host}`],
    ['Group', `${group}, ${countWords(lanes, 'lane')}`],
    ['Configuration', config],
    ['Log', log],
    ...pipelines.map(({ name, credentials, everyMs, maxOutstanding }) => [
      name,
      [
        ...(credentials === undefined ? [] : [`${countWords(credentials.length, 'credential')}: ${credentials.join(', ')}`]),
        everyMs === undefined ? 'lists crawled once' : `lists crawled every ${durationWords(everyMs)}`,
        `at most ${groupedNumber(maxOutstanding)} items requested and not yet written`,
      ].join('; '),
    ]),
  ] as const;
  return facts.map(([name = '', value = ''], i) => [`${i}`, markup`<div data-key="${i}"><dt>${name}</dt><dd>${value}</dd></div>`]);
}
