import { countWords } from './text/number-words.ts';
import { safeText } from './text/safe-text.ts';
import type { FailedLane, LaneEvent } from './held-lanes.ts';
import type { RunSnapshot } from './run-snapshot.ts';

/** Why a process that holds no lane has nothing to do. `lanesAssigned`: as the group has said, undefined before. */
export function noLaneWords({ lanesAssigned }: Pick<RunSnapshot, 'lanesAssigned'>): string {
  if (lanesAssigned === undefined) return 'joins the group: it has not said yet which lanes are for this process';
  return lanesAssigned === 0 ? 'stands by: other processes of the group work all lanes' : `opens ${countWords(lanesAssigned, 'lane')}`;
}

const longestList = 4;

/** The lanes held: `lanes 0 1 2 3`, `lanes followers 0 to 7, books 0`, `no lane`; empty where lanes are nobody's concern. */
export function lanesWords({ lanes, lanesShared }: Pick<RunSnapshot, 'lanes' | 'lanesShared'>): string {
  if (!lanesShared) return '';
  const of = (service: string): string => numbersWords(lanes.filter((one) => one.service === service).map(({ lane }) => lane));
  const followers = of('followers');
  const books = of('books');
  if (followers === '' && books === '') return 'no lane';
  if (books === '' || books === followers) return `lanes ${followers}`;
  return followers === '' ? `lanes books ${books}` : `lanes followers ${followers}, books ${books}`;
}

/** That other lanes are worked by others: `1 other lane is worked by other processes of the group`. */
export function elsewhereWords(count: number): string {
  return `${countWords(count, 'other lane')} ${count === 1 ? 'is' : 'are'} worked by other processes of the group`;
}

/** What happened to a lane, on one line. */
export function laneEventWords(event: LaneEvent): string {
  const name = `${event.service} lane ${event.lane}`;
  if (event.type === 'lane-opened') return `${name}: this process works it now`;
  if (event.failed) return failedLaneWords({ ...event, reason: safeText(event.reason ?? '', 500) });
  const reason = safeText(event.reason ?? '').replace(/[.;\s]+$/, '');
  if (reason === '') return `${name}: given up; what is unfinished goes on wherever it is opened next`;
  return `${name}: ${reason}; this process stopped working on it. Nothing is lost.`;
}

/** Why a lane can't go on. */
export function failedLaneWords({ service, lane, reason }: FailedLane): string {
  return `${service} lane ${lane} can't go on: ${reason.replace(/[.;\s]+$/, '')}. Nothing is lost: its requests wait for the next run.`;
}

/** Sorted numbers; a run of more than four is said by its ends. */
function numbersWords(numbers: readonly number[]): string {
  const runs: [first: number, last: number][] = [];
  for (const number of numbers) {
    const run = runs.at(-1);
    if (run?.[1] === number - 1) run[1] = number;
    else runs.push([number, number]);
  }
  return runs
    .map(([first, last]) =>
      last - first < longestList ? Array.from({ length: last - first + 1 }, (_, index) => first + index).join(' ') : `${first} to ${last}`,
    )
    .join(' ');
}
