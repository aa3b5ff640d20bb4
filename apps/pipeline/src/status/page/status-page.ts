import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Tone } from '../text/table.ts';
import { Html, markup } from './markup.ts';
import type { PageFrame, Part } from './page-parts.ts';
import { ROWS, STATES, type WorkFilter } from './work-filter.ts';

/** The page's script and style, as in the document. */
export interface PageAssets {
  readonly script: string;
  readonly style: string;
  /** Version of both: a page that is older than the run reloads itself. */
  readonly version: string;
  /** Permits only this script and this style. */
  readonly contentSecurityPolicy: string;
}

export async function pageAssets(): Promise<PageAssets> {
  const [script, style] = await Promise.all(
    ['page.mjs', 'page.css'].map(async (name) => `\n${await readFile(new URL(name, import.meta.url), 'utf8')}`),
  );
  if (script === undefined || style === undefined) throw new Error('The status page has no script or no style.');
  const hash = (text: string): string => createHash('sha256').update(text).digest('base64');
  const policy = [
    "default-src 'none'",
    `script-src 'sha256-${hash(script)}'`,
    `style-src 'sha256-${hash(style)}'`,
    'img-src data:',
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  return { script, style, version: hash(script + style), contentSecurityPolicy: policy.join('; ') };
}

const COLOURS: Readonly<Record<Tone | 'none', string>> = { good: '1f9d4d', wait: 'd98200', bad: 'd1242f', none: '6e7781' };

/** The page's icon: a dot in the colour of the run's state. */
export function iconOf(tone: Tone | undefined): string {
  const dot = `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><circle cx='8' cy='8' r='7' fill='#${COLOURS[tone ?? 'none']}'/></svg>`;
  return `data:image/svg+xml,${encodeURIComponent(dot)}`;
}

export interface StatusPageOptions {
  readonly frame: PageFrame;
  readonly filter: WorkFilter;
  readonly assets: PageAssets;
}

/** The whole current document; its script keeps it up to date. */
export function statusPage({ frame: { title, state, parts }, filter, assets }: StatusPageOptions): string {
  const part = (id: string): Html => childrenOf(parts.get(id));
  const option = (value: string | number, isChosen: boolean): Html =>
    markup`<option value="${value}"${isChosen ? new Html(' selected') : ''}>${value}</option>`;
  const { script, style, version } = assets;
  return markup`<!doctype html>
<html lang="en" data-version="${version}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="${new Html(iconOf(state.tone))}">
<style>${new Html(style)}</style>
</head>
<body>
<header id="head">${part('head')}</header>
<main>
<div class="live"><span id="connection"></span> <button id="pause" type="button" hidden>Pause</button></div>
<noscript><p>Without JavaScript, this page isn't updated. <a href="">Load it again</a> to see the current state of the run.</p></noscript>
<p id="announcement" class="unseen" role="status"></p>
<ul id="waits" class="plain">${part('waits')}</ul>
<section aria-labelledby="budgets-title">
<h2 id="budgets-title">Budgets</h2>
${table('budgets', ['Budget', 'Share used', 'Used', 'Next'], part('budgets'))}
<p class="empty">No budget is in use yet.</p>
</section>
<section aria-labelledby="work-title">
<h2 id="work-title">Jobs</h2>
<form id="filter">
<label>Name <input type="search" name="q" value="${filter.text}" maxlength="100" autocomplete="off"></label>
<label>State <select name="state">${STATES.map((one) => option(one, one === filter.state))}</select></label>
<label>Rows <select name="rows">${ROWS.map((one) => option(one, one === filter.most))}</select></label>
<noscript><button>Show</button></noscript>
</form>
${table('work', ['Job', 'Share done', 'So far', 'Items', 'Done at', 'Now'], part('work'))}
<div id="work-rest">${part('work-rest')}</div>
</section>
<section aria-labelledby="charts-title">
<h2 id="charts-title">Last hours</h2>
<div id="charts">${part('charts')}</div>
</section>
<section aria-labelledby="faults-title">
<h2 id="faults-title">Faults</h2>
${table('faults', ['Fault', 'Times', 'First', 'Last', 'Reason'], part('faults'))}
<p class="empty">No fault so far.</p>
</section>
<section aria-labelledby="letters-title">
<h2 id="letters-title">Dead letters</h2>
<div id="replays">${part('replays')}</div>
${table('letters', ['Job', 'At', 'Code', 'Reason', 'Topic'], part('letters'))}
<p class="empty">No dead letter so far.</p>
</section>
<section aria-labelledby="events-title">
<h2 id="events-title">Last events</h2>
<ol id="events" class="plain">${part('events')}</ol>
</section>
<section aria-labelledby="about-title">
<h2 id="about-title">This run</h2>
<dl id="about">${part('about')}</dl>
</section>
</main>
<footer><a href="status.json">status.json</a> <a href="metrics">metrics</a> <a href="readyz">readyz</a></footer>
<script type="module">${new Html(script)}</script>
</body>
</html>
`.text;
}

function childrenOf(part: Part = new Map()): Html {
  return new Html([...part.values()].join(''));
}

function table(id: string, heads: readonly string[], rows: Html): Html {
  return markup`<table class="${id}">
<thead><tr>${heads.map((head) => markup`<th scope="col">${head}</th>`)}</tr></thead>
<tbody id="${id}">${rows}</tbody>
</table>`;
}
