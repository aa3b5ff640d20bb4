import { createJsonLines } from './json-lines.ts';
import { createLiveDisplay } from './live-display.ts';
import { createPlainLines } from './plain-lines.ts';
import type { Reporter, ReporterOptions } from './reporter.ts';

/** Shows a run as it happens: a live display on a terminal, plain lines elsewhere, or JSON. */
export function createReporter(options: ReporterOptions): Reporter {
  // Nobody reads the talk any more: no reason to end the work.
  options.stderr.on('error', () => {});
  if (options.json) return createJsonLines(options);
  return (options.live ?? options.stderr.isTTY === true) ? createLiveDisplay(options) : createPlainLines(options);
}
