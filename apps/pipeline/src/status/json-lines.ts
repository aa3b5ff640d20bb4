import type { Progress } from '@headgate/pipeline';
import { eventText } from './format-event.ts';
import type { Reporter, ReporterOptions } from './reporter.ts';
import { every, type RunView } from './run-view.ts';
import { NO_JOBS, screenOf } from './screen.ts';
import { jsonMessage, type Level } from './text/json-message.ts';
import { safeText } from './text/safe-text.ts';
import { snakeCased } from './text/snake-case.ts';
import { createTimeWords } from './text/time-words.ts';
import { budgetName, progressWords } from './format-row.ts';

const TICK_MS = 1_000;
const PROGRESS_EVERY_MS = 30_000;

/**
 * Writes one JSON object per event: `level`, `time` (ISO 8601), `event`, the event's own fields (at most 2,000 characters each) and `msg`, the
 * same as text. `waiting` reports once per wait that all requests of a pipeline wait for a budget. `progress` reports each pipeline that
 * has advanced, at most every 30 s.
 */
export function createJsonLines(options: Pick<ReporterOptions, 'stderr' | 'clock' | 'view' | 'units' | 'header' | 'commandFor'>): Reporter {
  const { clock, view, units, commandFor } = options;
  const say = (level: Level, fields: object, message: string): void =>
    void options.stderr.write(jsonMessage(level, clock.epochMs(), fields, message));
  const times = createTimeWords({ timeZone: 'UTC' });
  /** The reported end of each wait (epoch ms), by the name of the budget. */
  let waiting = new Map<string, number>();
  let progressAtMs = clock.monotonicMs();
  const lastDone = new Map<string, number>();
  const { version, host, pid, group } = view().about;
  say('info', { event: 'run-started', version, host, pid, group }, safeText(options.header));

  const sayWaits = (current: RunView): void => {
    const { waits } = screenOf(current, { times, commandFor, jobs: NO_JOBS });
    const held = waits.filter(({ budget: { freeAt } }) => freeAt !== undefined && freeAt - current.now > TICK_MS);
    const before = waiting;
    waiting = new Map();
    for (const { budget: one } of held) {
      const { pipeline, credential, budget, used, limit, freeAt = 0 } = one;
      const name = budgetName(one);
      const said = before.get(name);
      // A small correction of the machine's clock moves `freeAt` by some ms, and isn't a new wait.
      const isSaid = said !== undefined && Math.abs(said - freeAt) < TICK_MS;
      waiting.set(name, isSaid ? said : freeAt);
      if (isSaid) continue;
      const until = new Date(freeAt).toISOString();
      say('info', { event: 'waiting', pipeline, credential, budget, until, used, limit }, `${pipeline} waits for ${name} until ${until}`);
    }
  };
  const sayProgress = (current: RunView): void => {
    if (clock.monotonicMs() - progressAtMs < PROGRESS_EVERY_MS) return;
    for (const [pipeline, one] of Object.entries(current.pipelines)) {
      const { progress } = one;
      if (progress.done === (lastDone.get(pipeline) ?? 0)) continue;
      progressAtMs = clock.monotonicMs();
      lastDone.set(pipeline, progress.done);
      const words = progressWords({ ...current, progress, pipelines: { [pipeline]: one } }, times);
      say('info', { event: 'progress', pipeline, ...progressFields(progress) }, `${pipeline}: ${words}`);
    }
  };
  const stop = every(clock, TICK_MS, () => {
    const current = view();
    sayWaits(current);
    sayProgress(current);
  });

  return {
    event(event) {
      const { type, ...fields } = event;
      const { level, words } = eventText(event, units);
      say(level, { event: type, ...(type === 'notice' ? {} : snakeCased(fields)) }, words);
    },
    close: stop,
  };
}

export function progressFields({ done, left, isExact, doneAt }: Progress): Record<string, unknown> {
  return {
    requests_done: done,
    requests_left: left,
    is_exact: isExact,
    ...(doneAt !== undefined && { done_at: new Date(doneAt).toISOString() }),
  };
}
