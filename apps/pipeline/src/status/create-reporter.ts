import type { Reporter, ReporterOptions } from './reporter.ts';
import { plainOutput } from './text/plain-output.ts';

/** Shows a run as it happens: a live display on a terminal, plain lines elsewhere, or JSON. Loads what it shows it with, and no more. */
export async function createReporter(options: ReporterOptions): Promise<Reporter> {
  // Nobody reads the talk any more: no reason to end the work.
  options.stderr.on('error', () => {});
  if (options.json) return (await import('./json-lines.ts')).createJsonLines(options);
  if (options.live) return (await import('./live-display.ts')).createLiveDisplay(options);
  return (await import('./plain-lines.ts')).createPlainLines({ ...options, stderr: plainOutput(options.stderr) });
}
