import { crawlRows } from './crawl-rows.ts';
import { heldBackWords } from './held-back-lanes.ts';
import { htmlText } from './html-text.ts';
import { failedLaneWords, lanesWords, noLaneWords } from './lane-words.ts';
import { logUnavailableLines } from './log-words.ts';
import { elapsedWords } from './text/duration-words.ts';
import { countWords, groupedNumber } from './text/number-words.ts';
import { budgetName, creditWords, fullCredits, holdingBudgets, isBusy } from './wait-words.ts';
import type { RunGauges } from './run-event.ts';
import type { RunSnapshot } from './run-snapshot.ts';
import type { TimeWords } from './text/time-words.ts';

export interface StatusPageOptions {
  readonly snapshot: RunSnapshot;
  readonly gauges: RunGauges;
  readonly times: TimeWords;
}

const shownCrawls = 500;
const shownDeadLetters = 20;
const refreshSeconds = 2;

const style = `
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.3rem } h2 { font-size: 1rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .2rem 1rem .2rem 0; border-bottom: 1px solid #8883 }
progress { width: 10rem } .wait { color: #b60 } .bad { color: #c22 } .good { color: #282 }`;

/** The status page: one self-contained HTML document that loads itself again every 2 s. */
export function statusPage({ snapshot, gauges, times }: StatusPageOptions): string {
  const { rows, rest } = crawlRows({ snapshot, gauges, times, most: shownCrawls });
  const holding = holdingBudgets(gauges, snapshot.now);
  const { now, logUnavailable: unavailable } = snapshot;
  const waits = [
    ...(unavailable === undefined ? [] : logUnavailableLines({ unavailable, now, times })),
    ...snapshot.heldBack.map((lane) => heldBackWords(lane, times.when(lane.since, now))),
    ...fullCredits(gauges).map((credit) => `${credit.service}: ${creditWords(credit)}`),
  ].map((text) => `<p class="wait">${htmlText(text)}</p>`);
  const failed = snapshot.failedLanes.map((lane) => `<p class="bad">${htmlText(failedLaneWords(lane))}</p>`);
  const lanes =
    snapshot.lanes.length === 0 && failed.length === 0 && unavailable === undefined && !isBusy(gauges)
      ? noLaneWords(snapshot)
      : lanesWords(snapshot);
  const { totals } = snapshot;

  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="${refreshSeconds}">
<title>headgate</title>
<style>${style}</style>
</head>
<body>
<h1>headgate, running for ${elapsedWords(snapshot.now - snapshot.startedAt)}</h1>
<p>${htmlText(`${countWords(totals.crawlsCompleted, 'crawl')} done, ${countWords(totals.pages, 'page')}, ${countWords(totals.ids, 'id')}`)}</p>
${lanes === '' ? '' : `<p>${htmlText(lanes)}</p>`}
${[...failed, ...waits].join('\n')}
${table(
  'Work',
  rows.map((row) => [htmlText(row.name), progress(row.share), htmlText(row.progress), htmlText(row.amount), noted(row.note, row.tone)]),
)}
${rest === '' ? '' : `<p>${htmlText(rest)}</p>`}
${table(
  'Budgets',
  gauges.budgets.map((one) => [
    htmlText(budgetName(one)),
    progress(one.limit > 0 ? one.used / one.limit : 1),
    `${groupedNumber(one.used)} / ${groupedNumber(one.limit)}${one.unit === 'isbns' ? ' ISBNs' : ''}`,
    one.freeAt !== undefined && one.freeAt > snapshot.now ? `next at ${htmlText(times.when(one.freeAt, snapshot.now))}` : '',
    holding.has(one) ? noted(`${holding.get(one) === 'everything' ? 'everything waits' : `${one.service} wait`} for this`, 'wait') : '',
  ]),
)}
${table(
  `Dead letters: ${groupedNumber(snapshot.deadLetters.total)}`,
  snapshot.deadLetters.last
    .slice(-shownDeadLetters)
    .toReversed()
    .map((one) => [htmlText(times.when(one.at, snapshot.now)), htmlText(one.topic), htmlText(one.key), noted(one.error.message, 'bad')]),
)}
<p><a href="/status.json">status.json</a> <a href="/metrics">metrics</a></p>
</body>
</html>
`;
}

function table(title: string, rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const lines = rows.map((cells) => `<tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`);
  return `<h2>${htmlText(title)}</h2>\n<table>\n${lines.join('\n')}\n</table>`;
}

function progress(share: number | undefined): string {
  return share === undefined ? '' : `<progress max="1" value="${Math.min(1, Math.max(0, share)).toFixed(3)}"></progress>`;
}

function noted(note: string, tone: string | undefined): string {
  return tone === undefined ? htmlText(note) : `<span class="${htmlText(tone)}">${htmlText(note)}</span>`;
}
