import { isIP } from 'node:net';
import { snakeCased } from './text/snake-case.ts';
import { createTimeWords } from './text/time-words.ts';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '@headgate/throttle';
import type { CommandFor } from './open-dead-letters.ts';
import type { StatusPage } from './page/status-page.ts';
import type { RunView } from './run-view.ts';
import { faultsOf } from './screen.ts';

export interface StatusAnswersOptions {
  /** Accepted names in the Host header, in lowercase. `localhost` and IP addresses are always accepted. */
  readonly names: readonly string[];
  readonly view: () => RunView;
  /** Measures when a page has last looked. */
  readonly clock: Clock;
  readonly commandFor: CommandFor;
  /** The page's time zone. Default: the machine's. */
  readonly timeZone?: 'UTC';
}

export interface StatusAnswers {
  /** Answers a request. Never throws. */
  answer(request: IncomingMessage, response: ServerResponse): void;
  /** Resolves at once or, if a page is open, when it has had the time to look once more. */
  close(): Promise<void>;
}

/**
 * Answers requests about the state of a run: `/` (the status page, or JSON if `Accept` prefers it), `/screen.json` (for the page),
 * `/status.json`, `/livez`, `/readyz` and `/metrics` (for Prometheus). Only reads.
 */
export function statusAnswers(options: StatusAnswersOptions): StatusAnswers {
  const { view, names, clock } = options;
  const times = createTimeWords(options);
  let loading: Promise<StatusPage> | undefined;
  let lookedAtMs = -Infinity;

  return {
    answer(request, response) {
      answerTo(request)
        .catch((): Answer => text(500, 'The status could not be read.\n'))
        .then(({ status, headers, body }) => {
          response.writeHead(status, { ...common, ...headers, 'content-length': Buffer.byteLength(body) });
          response.end(request.method === 'HEAD' ? undefined : body);
        })
        .catch(() => response.destroy());
    },
    async close() {
      if (clock.monotonicMs() - lookedAtMs < 2 * LOOK_EVERY_MS)
        await new Promise<void>((resolve) => void clock.schedule(LAST_LOOK_MS, resolve));
    },
  };

  /** Loads the metrics module at the first scrape, because many runs are never scraped. */
  async function metricsAnswer(): Promise<Answer> {
    const { runMetrics } = await import('./run-metrics.ts');
    const { user, system } = process.cpuUsage();
    const { contentType, body } = runMetrics(view(), { cpuSeconds: (user + system) / 1e6, residentBytes: process.memoryUsage.rss() });
    return { status: 200, headers: { 'content-type': contentType }, body };
  }

  async function answerTo(request: IncomingMessage): Promise<Answer> {
    if (!isOurs(request.headers.host)) {
      return text(403, 'This page is served only under its own host names. Add this one to status.names in the configuration.\n');
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return { ...text(405, 'Use GET or HEAD.\n'), headers: { 'content-type': plainText, allow: 'GET, HEAD', connection: 'close' } };
    }
    const [path = '/', ...query] = (request.url ?? '/').split('?');
    switch (path) {
      case '/':
        return prefersJson(request.headers.accept) ? statusJson() : await page();
      case '/screen.json':
        return await screenJson(query.join('?'));
      case '/status.json':
        return statusJson();
      case '/livez':
        return text(200, 'ok\n');
      case '/readyz':
        return readiness();
      case '/metrics':
        return await metricsAnswer();
      default:
        return text(404, 'Nothing here. See / /screen.json /status.json /livez /readyz /metrics\n');
    }
  }

  /** Whether the Host header names this server. Another site could point its own name here, and read this content through a browser. */
  function isOurs(named: string | undefined): boolean {
    // Every browser sends a Host header, so this client is a program.
    if (named === undefined) return true;
    const [, bracketed, plain = ''] = /^(?:\[([\da-f:.]+)\]|([^:]+))(?::\d*)?$/i.exec(named) ?? [];
    const name = plain.toLowerCase().replace(/\.$/, '');
    return isIP(bracketed ?? name) !== 0 || ['localhost', ...names].includes(name);
  }

  function readiness(): Answer {
    const why = notReady(view());
    return why.length === 0 ? text(200, 'ok\n') : text(503, `${why.join('\n')}\n`);
  }

  function notReady(now: RunView): string[] {
    return [
      ...(now.isStarted ? [] : ['not ready: the run starts when the log responds']),
      ...faultsOf(now, times).flatMap(({ words, tone }) => (tone === 'bad' ? [words] : [])),
    ];
  }

  async function page(): Promise<Answer> {
    const { document, contentSecurityPolicy } = await loaded();
    const headers = { 'content-type': 'text/html; charset=utf-8', vary: 'accept', 'content-security-policy': contentSecurityPolicy };
    return { status: 200, headers, body: document };
  }

  async function screenJson(query: string): Promise<Answer> {
    const body = (await loaded()).screen(query);
    lookedAtMs = clock.monotonicMs();
    return { status: 200, headers: { 'content-type': 'application/json' }, body };
  }

  /** Loads the page on the first request for it, because the pages of most runs are never opened. */
  async function loaded(): Promise<StatusPage> {
    loading ??= import('./page/status-page.ts').then(({ statusPage }) => statusPage(view, { ...options, times }));
    return await loading;
  }

  function statusJson(): Answer {
    const run = view();
    const body = `${JSON.stringify({ ready: notReady(run).length === 0, ...snakeCased(run) })}\n`;
    return { status: 200, headers: { 'content-type': 'application/json', vary: 'accept' }, body };
  }
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Interval at which an open page looks (page.mjs), ms. */
const LOOK_EVERY_MS = 1_000;
/** Time (ms) in which an open page looks once more. */
const LAST_LOOK_MS = 1_200;

const plainText = 'text/plain; charset=utf-8';

const common = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
} as const;

function text(status: number, body: string): Answer {
  return { status, headers: { 'content-type': plainText }, body };
}

/** A browser names text/html first. A client that names application/json before it, or without it, is a program. */
function prefersJson(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const json = accept.search(/application\/json/i);
  const html = accept.search(/text\/html/i);
  return json >= 0 && (html < 0 || json < html);
}
