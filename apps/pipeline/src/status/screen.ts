import { blockedLaneWords, failedLaneWords, itemsWords } from './format-event.ts';
import { failingPipelines, logOutageLabel, logOutageWords, serviceOutageWords } from './format-outage.ts';
import {
  type BudgetRow,
  type JobFilter,
  type Jobs,
  budgetRows,
  isIdle,
  jobRows,
  lanesWords,
  progressWords,
  unitsOf,
  type Wait,
  waitsOf,
} from './format-row.ts';
import { type CommandFor, olderOpenDeadLetters, openDeadLetterLines } from './open-dead-letters.ts';
import { type RunState, runState } from './run-state.ts';
import type { RunView } from './run-view.ts';
import { elapsedWords } from './text/duration-words.ts';
import { countWords } from './text/number-words.ts';
import { safeText } from './text/safe-text.ts';
import type { Tone } from './text/table.ts';
import type { TimeWords } from './text/time-words.ts';

/** The state of a run in words, for displays. */
export interface Screen {
  readonly state: RunState;
  /** Progress and forecast. `words` can be empty. `share` (0 to 1) is set only if it is exact. */
  readonly progress: { readonly words: string; readonly share?: number };
  readonly jobs: Jobs;
  readonly budgets: readonly BudgetRow[];
  /** The budgets that delay work. */
  readonly waits: readonly Wait[];
  /** Why nothing or too little happens, although nothing is wrong. */
  readonly notes: readonly Note[];
  /** Errors that keep work from continuing, the worst first. */
  readonly faults: readonly Fault[];
  /** Open dead letters, each line with the command to read them. */
  readonly deadLetterLines: readonly string[];
  /** The lanes that this process holds; empty if it holds one lane of each pipeline and has never left a lane. */
  readonly lanes: string;
  readonly elapsed: string;
}

export interface Note {
  readonly words: string;
  readonly tone?: Tone;
}

export interface Fault extends Note {
  /** A short form for the line with the run's state. */
  readonly short: string;
  /** With `bad`, the run isn't ready while the error lasts. */
  readonly tone: 'wait' | 'bad';
}

export interface ScreenOptions {
  readonly times: TimeWords;
  readonly commandFor: CommandFor;
  readonly jobs: JobFilter;
}

/** The choice of jobs for a display that shows none. */
export const NO_JOBS: JobFilter = { text: '', state: 'all', most: 0 };

export function screenOf(view: RunView, { times, commandFor, jobs }: ScreenOptions): Screen {
  const { progress } = view;
  const all = progress.done + progress.left;
  const faults = faultsOf(view, times);
  const waits = waitsOf(view);
  return {
    state: runState(view, faults, waits, times),
    progress: { words: progressWords(view, times), ...(progress.isExact && all > 0 && { share: progress.done / all }) },
    jobs: jobRows(view, times, jobs),
    budgets: budgetRows(view, waits, times),
    waits,
    notes: notesOf(view),
    faults,
    deadLetterLines: [
      ...Object.entries(view.pipelines).flatMap(([name, { deadLetters: count }]) =>
        count === 0 ? [] : [`${countWords(count, 'dead letter')}: ${safeText(commandFor('dead-letters', name), 1_000)}`],
      ),
      ...openDeadLetterLines(olderOpenDeadLetters(view), commandFor),
    ],
    lanes: lanesWords(view),
    elapsed: elapsedWords(view.elapsedMs),
  };
}

/** The errors of a run, the worst first. */
export function faultsOf(view: RunView, times: TimeWords): readonly Fault[] {
  const { now, failedLanes, blockedLanes, logUnavailable } = view;
  return [
    ...failedLanes.map((lane): Fault => ({
      short: `${lane.pipeline} lane ${lane.lane} can't continue`,
      words: failedLaneWords(lane),
      tone: 'bad',
    })),
    ...[logUnavailable ?? []].flat().map((outage): Fault => ({
      short: logOutageLabel(outage),
      words: logOutageWords(view, outage, times),
      tone: 'bad',
    })),
    ...failingPipelines(view).map((failing): Fault => ({
      short: `${failing.pipeline} is down since ${times.when(failing.since, now)}`,
      words: serviceOutageWords(view, failing, times),
      tone: 'bad',
    })),
    ...blockedLanes.map((lane): Fault => ({
      short: `jobs of ${lane.pipeline} lane ${lane.lane} are blocked`,
      words: blockedLaneWords(lane, times.when(lane.since, now)),
      tone: 'wait',
    })),
  ];
}

function notesOf(view: RunView): readonly Note[] {
  const { credits, lanes, work, failedLanes, blockedLanes, logUnavailable } = view;
  const full = credits.flatMap(({ pipeline, used, max }): Note[] => {
    const isWaitedFor = work.some((row) => row.pipeline === pipeline && row.doing?.state === 'waiting' && row.doing.for === 'downstream');
    if (used < max && !isWaitedFor) return [];
    const items = itemsWords(used, pipeline, unitsOf(view));
    return [{ words: `${pipeline}: ${items} not yet written (maxOutstanding): the next request waits`, tone: 'wait' }];
  });
  const stopping: Note[] = view.isStopping && view.outcome === undefined ? [{ words: stoppingWords(view), tone: 'wait' }] : [];
  const idle =
    !view.isStopping && logUnavailable === undefined && failedLanes.length + blockedLanes.length === 0 && isIdle(view)
      ? [{ words: lanes.length === 0 ? noLaneWords(view) : 'all jobs are done: waiting for new jobs' }]
      : [];
  return [...stopping, ...full, ...idle];
}

/** Names the work that a stop waits for: `stopping: waiting for 3 responses and 1 write, at most 10 s; the next run continues with …`. */
function stoppingWords({ work, logUnavailable }: RunView): string {
  const count = (state: NonNullable<RunView['work'][number]['doing']>['state']): number =>
    work.filter(({ doing }) => doing?.state === state).length;
  const parts = [
    count('requesting') > 0 ? countWords(count('requesting'), 'response') : '',
    count('writing') > 0 ? countWords(count('writing'), 'write') : '',
    count('behind') > 0 ? 'the work after a job' : '',
    logUnavailable === undefined ? '' : 'the log',
  ].filter((part) => part !== '');
  const what = parts.length === 0 ? 'releasing its lanes' : `waiting for ${parts.join(' and ')}, at most 10 s`;
  return `stopping: ${what}; the next run continues with the remaining jobs`;
}

/** The state of a process that holds no lane. */
function noLaneWords({ lanesAssigned, isDoneHere }: Pick<RunView, 'lanesAssigned' | 'isDoneHere'>): string {
  if (isDoneHere) return 'its work is done: it ends in a few seconds, unless another process releases a lane';
  if (lanesAssigned === undefined) return 'joining the group: no lanes are assigned to this process yet';
  return lanesAssigned === 0 ? 'standing by: other processes of the group hold all lanes' : `opens ${countWords(lanesAssigned, 'lane')}`;
}
