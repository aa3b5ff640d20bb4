import { eventWords } from './event-words.ts';
import { createFailureLines } from './failure-lines.ts';
import { createHeldLanes } from './held-lanes.ts';
import { noLaneWords } from './lane-words.ts';
import { createLogLines } from './log-words.ts';
import { createPageLines } from './page-lines.ts';
import { safeText } from './text/safe-text.ts';
import { createTimeWords } from './text/time-words.ts';
import { budgetName, creditWords, fullCredits, holdingBudgets, isBusy } from './wait-words.ts';
import type { Output } from './text/plain-output.ts';
import type { Reporter, ReporterOptions } from './reporter.ts';

const tickMs = 250;
const quietMs = 3000;

/**
 * One line per thing that happened: `10:31:04 @alpha page 412: 5,000 ids, 13/15 left`.
 * About the same crawl at most one a second, what is left out is summed up in the next; errors are never held back.
 * Where nothing happens for 3 s because of a budget, a full writer or for lack of a lane, one line says so.
 */
export function createPlainLines(
  options: Pick<ReporterOptions, 'clock' | 'gauges' | 'header' | 'timeZone'> & { readonly stderr: Output },
): Reporter {
  const { stderr, clock, gauges } = options;
  const times = createTimeWords(options);
  const failures = createFailureLines({ activities: () => gauges().activities });
  const logLines = createLogLines({ now: () => clock.now() });
  const lanes = createHeldLanes();
  const pages = createPageLines({ now: () => clock.now(), write, budgets: () => gauges().budgets });
  let lastLineAt = clock.now();
  let lastWait = '';
  let isLogAvailable = true;
  let lanesAssigned: number | undefined;

  write(safeText(options.header));
  const stop = clock.every(tickMs, () => {
    pages.flush();
    sayWait();
  });

  return {
    event(event) {
      switch (event.type) {
        case 'crawl-started':
        case 'page-written':
        case 'crawl-completed':
        case 'books-written':
        case 'author-written':
          pages.add(event);
          return;
        case 'crawl-failed':
        case 'dead-letter': {
          if (event.type === 'crawl-failed') pages.end(event.crawl);
          const line = failures.say(event);
          if (line !== undefined) write(line);
          return;
        }
        case 'request':
          // What isn't tried again is told by its dead letter.
          if (event.outcome !== 'ok' && (event.retryInMs !== undefined || event.outcome === 'rate-limited')) write(eventWords(event));
          return;
        case 'log-unavailable':
        case 'log-available': {
          isLogAvailable = event.type === 'log-available';
          const line = logLines.say(event);
          if (line !== undefined) write(line);
          return;
        }
        case 'lane-opened':
        case 'lane-left':
          lanes.apply(event);
          if (event.type === 'lane-left') pages.endLane(event);
          write(eventWords(event));
          return;
        case 'lanes-assigned':
          lanesAssigned = event.lanes;
          return;
        case 'lanes-elsewhere':
          // The summary says it.
          return;
        case 'books-queued':
        case 'changes-written':
        case 'notice':
        case 'requests-held-back':
        case 'requests-readable':
          write(eventWords(event));
          return;
      }
    },
    close() {
      stop();
      pages.flushAll();
    },
  };

  function write(line: string): void {
    lastLineAt = clock.now();
    stderr.write(`${times.time(lastLineAt)} ${line}\n`);
  }

  function sayWait(): void {
    const now = clock.now();
    if (now - lastLineAt < quietMs) return;
    const lines = waitLines(now);
    const said = lines.join('\n');
    if (said !== lastWait) lines.forEach(write);
    lastWait = said;
  }

  function waitLines(now: number): string[] {
    const current = gauges();
    const full = fullCredits(current).map((credit) => `${credit.service}: ${creditWords(credit)}`);
    const held = [...holdingBudgets(current, now)].map(([budget, what]) => {
      const next = budget.freeAt === undefined ? 'when a request under way is answered' : `at ${times.when(budget.freeAt, now)}`;
      return `${what} ${what === 'everything' ? 'waits' : 'wait'} for ${budgetName(budget)}, ${budget.used}/${budget.limit} used: next request ${next}`;
    });
    const isIdle = lanes.held.length === 0 && lanes.failed.length === 0 && isLogAvailable && !isBusy(current);
    const idle = isIdle ? [noLaneWords({ ...(lanesAssigned !== undefined && { lanesAssigned }) })] : [];
    return [...full, ...held, ...idle];
  }
}
