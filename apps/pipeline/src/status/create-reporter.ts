import type { Reporter, ReporterOptions } from './reporter.ts';
import { plainOutput } from './text/plain-output.ts';

/** Creates the display of a run: JSON lines with `json`, a live display with `live`, plain lines otherwise. Loads only that module. */
export async function createReporter(options: ReporterOptions): Promise<Reporter> {
  // An error of stderr, such as a pipe that its reader has closed, doesn't end the run.
  options.stderr.on('error', () => {});
  if (options.json) return (await import('./json-lines.ts')).createJsonLines(options);
  if (options.live) return (await import('./live-display.ts')).createLiveDisplay(options);
  return (await import('./plain-lines.ts')).createPlainLines({ ...options, stderr: plainOutput(options.stderr) });
}
