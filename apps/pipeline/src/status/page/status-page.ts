import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Clock } from '@headgate/throttle';
import type { RunView } from '../run-view.ts';
import type { ScreenOptions } from '../screen.ts';
import { pageJobs, pageScreen } from './page-screen.ts';
import { type PageStreams, pageStreams, type PageStreamsOptions } from './page-stream.ts';

export interface StatusPageOptions extends Omit<ScreenOptions, 'jobs'> {
  readonly view: () => RunView;
  readonly clock: Clock;
}

/** The status page, which is the same for every run, and the streams that fill it. */
export interface StatusPage {
  readonly document: string;
  /** Permits only the page's own script and style, `data:` images, and requests to its own server. */
  readonly contentSecurityPolicy: string;
  readonly streams: PageStreams;
}

export async function statusPage({ view, clock, ...options }: StatusPageOptions): Promise<StatusPage> {
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
  const frames: PageStreamsOptions['frames'] = () => {
    const now = view();
    const shared = pageScreen(now, options);
    return (filter) => ({ ...shared, ...pageJobs(now, filter, options.times) });
  };
  return {
    document: html
      .replace('data-version=""', () => `data-version="${version}"`)
      .replace('<style></style>', () => `<style>${style}</style>`)
      .replace('<script type="module"></script>', () => `<script type="module">${script}</script>`),
    contentSecurityPolicy: policy.join('; '),
    streams: pageStreams({ clock, frames, version }),
  };
}
