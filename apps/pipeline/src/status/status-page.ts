import type { RunView } from './run-view.ts';
import { elapsedWords } from './text/duration-words.ts';
import { countWords, groupedNumber } from './text/number-words.ts';
import { safeText } from './text/safe-text.ts';
import type { TableRow } from './text/table.ts';
import type { TimeWords } from './text/time-words.ts';
import { itemsWords } from './event-words.ts';
import { budgetRows, lanesWords, progressWords, unitsOf, waits, workRows } from './view-words.ts';

const SHOWN_REQUESTS = 500;
const REFRESH_SECONDS = 2;

const style = `
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.3rem } h2 { font-size: 1rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .2rem 1rem .2rem 0; border-bottom: 1px solid #8883 }
progress { width: 10rem } .wait { color: light-dark(#8a4b00, #e8a33d) } .bad { color: light-dark(#b3141d, #ff7b72) }
.good { color: light-dark(#1a6b2a, #5fd175) }`;

/** The status page: one self-contained HTML document that loads itself again every 2 s. */
export function statusPage(view: RunView, times: TimeWords): string {
  const { pipelines, deadLetters, now } = view;
  const { rows, rest } = workRows(view, times, SHOWN_REQUESTS);
  const totals = Object.entries(pipelines).map(([name, { walks, pages, items, keys }]) => {
    const keysSaid = keys.answered > 0 ? [`${countWords(keys.answered, 'key')} answered`] : [];
    const pagesSaid = [`${countWords(walks.completed, 'crawl')} done`, countWords(pages, 'page'), itemsWords(items, name, unitsOf(view))];
    return `${name}: ${[...(walks.started > 0 || keysSaid.length === 0 ? pagesSaid : []), ...keysSaid].join(', ')}`;
  });
  const lines = [progressWords(view, times), ...totals, lanesWords(view)].filter((line) => line !== '');
  const letters = deadLetters.last
    .toReversed()
    .map(({ at, topic, key, error }) => [htmlText(times.when(at, now)), htmlText(topic), htmlText(key), noted(error.message, 'bad')]);

  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="${REFRESH_SECONDS}">
<title>headgate</title>
<style>${style}</style>
</head>
<body>
<h1>headgate, ${view.isStopping ? 'stopping after' : 'running for'} ${elapsedWords(now - view.startedAt)}</h1>
${lines.map((line) => `<p>${htmlText(line)}</p>`).join('\n')}
${waits(view, times)
  .map(({ words, tone }) => `<p${tone === undefined ? '' : ` class="${tone}"`}>${htmlText(words)}</p>`)
  .join('\n')}
${table('Work', rows.map(cells))}
${rest === '' ? '' : `<p>${htmlText(rest)}</p>`}
${table('Budgets', budgetRows(view, times).map(cells))}
${table(`Dead letters: ${groupedNumber(deadLetters.total)}`, letters)}
<p><a href="/status.json">status.json</a> <a href="/metrics">metrics</a></p>
</body>
</html>
`;
}

function cells({ name, share, progress, amount, note, tone }: TableRow): string[] {
  return [htmlText(name), bar(share), htmlText(progress), htmlText(amount), noted(note, tone)];
}

function table(title: string, rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const lines = rows.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`);
  return `<h2>${htmlText(title)}</h2>\n<table>\n${lines.join('\n')}\n</table>`;
}

function bar(share: number | undefined): string {
  return share === undefined ? '' : `<progress max="1" value="${Math.min(1, Math.max(0, share)).toFixed(3)}"></progress>`;
}

function noted(note: string, tone: string | undefined): string {
  return tone === undefined ? htmlText(note) : `<span class="${htmlText(tone)}">${htmlText(note)}</span>`;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Text as HTML shows it: no tag, no attribute can come of it. */
function htmlText(text: string): string {
  return safeText(text, 1000).replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}
