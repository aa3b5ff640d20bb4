import { pino } from 'pino';
import { eventWords } from './event-words.ts';
import { escapedControls } from './text/escaped-controls.ts';
import { safeText } from './text/safe-text.ts';
import type { Reporter, ReporterOptions } from './reporter.ts';
import type { RunEvent } from './run-event.ts';

/** Keys and names come from outside, too. */
const LONGEST_FIELD = 2_000;

/** One JSON object per event: `level`, `time` (ISO 8601), `event`, the event's own fields, each cut after 2,000 characters, and `msg` in words. */
export function createJsonLines(options: Pick<ReporterOptions, 'stderr' | 'clock' | 'gauges' | 'header'>): Reporter {
  const { stderr, clock, gauges } = options;
  const log = pino(
    {
      base: null,
      timestamp: () => `,"time":"${new Date(clock.now()).toISOString()}"`,
      formatters: { level: (level) => ({ level }) },
    },
    { write: (line) => void stderr.write(escapedControls(line)) },
  );
  log.info({ event: 'run-started' }, safeText(options.header));

  return {
    event(event) {
      const { type, ...fields } = event;
      log[levelOf(event)]({ event: type, ...('level' in fields ? {} : bounded(fields)), ...budgetLeft(event) }, eventWords(event));
    },
    close() {
      // Every line is out already.
    },
  };

  function budgetLeft(event: RunEvent): { left?: number; limit?: number } {
    if (event.type !== 'page-written') return {};
    const budget = gauges().budgets.find((one) => one.service === 'followers' && one.credential === event.credential);
    return budget === undefined ? {} : { left: Math.max(0, budget.limit - budget.used), limit: budget.limit };
  }
}

function bounded(fields: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]: [string, unknown]) => {
      if (typeof value === 'string' && value.length > LONGEST_FIELD) return [name, `${value.slice(0, LONGEST_FIELD)}…`];
      return [name, typeof value === 'object' && value !== null ? bounded(value) : value];
    }),
  );
}

function levelOf(event: RunEvent): 'info' | 'warn' | 'error' {
  switch (event.type) {
    case 'crawl-failed':
    case 'dead-letter':
      return 'error';
    case 'request':
      return event.outcome === 'ok' || event.outcome === 'gone' ? 'info' : 'warn';
    case 'notice':
      return event.level;
    case 'lane-left':
      if (event.failed) return 'error';
      return event.reason === undefined ? 'info' : 'warn';
    case 'requests-held-back':
    case 'log-unavailable':
      return 'warn';
    case 'crawl-started':
    case 'page-written':
    case 'crawl-completed':
    case 'changes-written':
    case 'books-queued':
    case 'books-written':
    case 'author-written':
    case 'lane-opened':
    case 'lanes-assigned':
    case 'lanes-elsewhere':
    case 'requests-readable':
    case 'log-available':
      return 'info';
  }
}
