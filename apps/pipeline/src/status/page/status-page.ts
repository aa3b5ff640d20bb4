import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { JobFilter } from '../format-row.ts';
import type { RunView } from '../run-view.ts';
import type { ScreenOptions } from '../screen.ts';
import { safeText } from '../text/safe-text.ts';
import { pageScreen } from './page-screen.ts';

const STATES = ['all', 'working', 'failed', 'done'] as const;
const ROWS = [25, 100, 300] as const;

/** The status page, which is the same for every run, and the screen that fills it. */
export interface StatusPage {
  readonly document: string;
  /** Permits only the page's own script and style, `data:` images, and requests to its own server. */
  readonly contentSecurityPolicy: string;
  /** The current screen as JSON. `query`: the query of the page's address, which has the filter of the jobs. */
  screen(query: string): string;
}

export async function statusPage(view: () => RunView, options: Omit<ScreenOptions, 'jobs'>): Promise<StatusPage> {
  const [html = '', script = '', style = ''] = await Promise.all(
    ['page.html', 'page.mjs', 'page.css'].map(async (name) => await readFile(new URL(name, import.meta.url), 'utf8')),
  );
  const hash = (text: string): string => createHash('sha256').update(text).digest('base64');
  const version = hash(html + script + style);
  const policy = [
    "default-src 'none'",
    `script-src 'sha256-${hash(script)}'`,
    `style-src 'sha256-${hash(style)}'`,
    'img-src data:',
    "connect-src 'self'",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  return {
    document: html
      .replace('data-version=""', () => `data-version="${version}"`)
      .replace('<style></style>', () => `<style>${style}</style>`)
      .replace('<script type="module"></script>', () => `<script type="module">${script}</script>`),
    contentSecurityPolicy: policy.join('; '),
    screen(query) {
      const screen = pageScreen(view(), { ...options, jobs: jobFilter(query) });
      // An open page of another version reloads.
      return JSON.stringify({ version, screen }, (_, value: unknown) => (typeof value === 'string' ? safeText(value, 1_000) : value));
    },
  };
}

/** Reads the filter from the query of an address. Unknown parameters and invalid values are ignored. */
function jobFilter(query: string): JobFilter {
  const given = new URLSearchParams(query);
  return {
    text: (given.get('q') ?? '').slice(0, 100),
    state: STATES.find((state) => state === given.get('state')) ?? 'all',
    most: ROWS.find((rows) => `${rows}` === given.get('rows')) ?? ROWS[0],
  };
}
