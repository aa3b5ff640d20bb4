import { createLogUpdate } from 'log-update';
import { eventWords } from './event-words.ts';
import { createFailureLines } from './failure-lines.ts';
import { createLogLines } from './log-words.ts';
import { liveFrame } from './live-frame.ts';
import { createRunModel } from './run-model.ts';
import { createTimeWords } from './text/time-words.ts';
import type { Reporter, ReporterOptions } from './reporter.ts';

const redrawMs = 200;

/**
 * A display that is redrawn in place 5 times a second; failures, notices, lanes lost and ended outages scroll above it and stay.
 * The cursor stays visible, so that nothing is left to be repaired after a kill.
 */
export function createLiveDisplay(options: Omit<ReporterOptions, 'json' | 'live'>): Reporter {
  const { stderr, clock, gauges, color, header } = options;
  const readCommand = options.readCommand ?? ((topic: string) => `headgate read ${topic}`);
  const times = createTimeWords(options);
  const model = createRunModel({ clock });
  const failures = createFailureLines({ activities: () => gauges().activities });
  const logLines = createLogLines({ now: () => clock.now() });
  const draw = createLogUpdate(stderr, { showCursor: true });
  /** Lines that are to stay, written with the next redraw: thousands of failures a second don't become thousands of redraws. */
  let staying: string[] = [];

  redraw();
  const stop = clock.every(redrawMs, redraw);

  return {
    event(event) {
      model.apply(event);
      switch (event.type) {
        case 'notice':
        case 'requests-readable':
          stay(eventWords(event));
          return;
        case 'crawl-failed':
        case 'dead-letter': {
          const line = failures.say(event);
          if (line !== undefined) stay(line);
          return;
        }
        case 'lane-left':
          // What was given up in good order shows in the header.
          if (event.reason !== undefined) stay(eventWords(event));
          return;
        case 'log-unavailable':
        case 'log-available': {
          const line = logLines.say(event);
          // While it lasts, an outage has its line in the display.
          if (line !== undefined && event.type === 'log-available') stay(line);
          return;
        }
        case 'requests-held-back':
          // While it lasts it has its line in the display.
          return;
        case 'lanes-assigned':
        case 'lanes-elsewhere':
        case 'lane-opened':
        case 'crawl-started':
        case 'page-written':
        case 'crawl-completed':
        case 'changes-written':
        case 'books-queued':
        case 'books-written':
        case 'author-written':
        case 'request':
          return;
      }
    },
    close() {
      stop();
      writeStaying();
      draw.clear();
      draw.done();
    },
  };

  function stay(line: string): void {
    staying.push(`${times.time(clock.now())} ${line}`);
  }

  function redraw(): void {
    writeStaying();
    const columns = stderr.columns ?? 80;
    // One column and one row are left free: a terminal wraps or scrolls when its last one is written.
    const frame = liveFrame({
      header,
      snapshot: model.snapshot(),
      gauges: gauges(),
      columns: Math.max(1, columns - 1),
      rows: Math.max(1, (stderr.rows ?? 24) - 1),
      color,
      times,
      readCommand,
    });
    draw(frame.join('\n'));
  }

  function writeStaying(): void {
    if (staying.length === 0) return;
    draw.persist(staying.join('\n'));
    staying = [];
  }
}
