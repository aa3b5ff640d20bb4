import type { RequestRecord } from '../definition/request.ts';
import type { StateOfLane } from './worker.ts';
import { resumedLookups } from '../lookup/lookup-requests.ts';
import { resumedWalks } from '../walk/walk.ts';

/** The unfinished requests in a lane's state, whatever kind of work began them: their topic may not hold them any more. */
export function resumedRequests(state: StateOfLane): readonly RequestRecord[] {
  const byOffset = new Map([...resumedLookups(state), ...resumedWalks(state)].map((record) => [record.offset, record]));
  return [...byOffset.values()];
}
