import type { Reason, RequestEvent, WorkGauge } from '../events/events.ts';
import type { WalkRow } from './run-snapshot.ts';

/** Maximum number of ended walks that are kept. */
const KEPT_WALKS = 1_000;
/** Maximum number of unfinished walks that are kept while this process doesn't hold their lane. */
const KEPT_AWAY = 10_000;

/** `isAway`: true if this process no longer holds the walk's lane. */
type Walk = Omit<WalkRow, 'doing' | 'expected'> & { readonly isAway?: boolean };

/** The display rows of a run's walks, in bounded memory. */
export interface WalkRows {
  /** Adds a walk. Returns false if the walk was already known and continues. */
  started(event: Extract<RequestEvent, { type: 'request-started' }>): boolean;
  pageWritten(request: string, page: number, items: number): void;
  end(
    request: string,
    to: { readonly state: 'completed'; readonly pages: number } | { readonly state: 'failed'; readonly error: Reason },
  ): void;
  /** Hides the active walks of a lane that this process no longer holds. */
  leave(lane: { readonly pipeline: string; readonly lane: number }): void;
  /** `work`: gauges of the active work. */
  rows(work: readonly WorkGauge[]): Generator<WalkRow>;
}

export function walkRows(): WalkRows {
  const walks = new Map<string, Walk>();
  let endedWalks = 0;
  let awayWalks = 0;

  const change = (request: string, to: Partial<Walk>): void => {
    const walk = walks.get(request);
    if (walk !== undefined) walks.set(request, { ...walk, ...to });
  };
  /** Removes the oldest walk for which `isOld` is true. */
  const forget = (isOld: (walk: Walk) => boolean): void => {
    for (const [request, walk] of walks) {
      if (!isOld(walk)) continue;
      walks.delete(request);
      return;
    }
  };

  return {
    started({ pipeline, lane, key, request, page, items, group }) {
      const before = walks.get(request);
      // This process has taken the lane again, and the walk continues.
      if (before?.state === 'working') {
        if (before.isAway) awayWalks -= 1;
        walks.set(request, { ...before, isAway: false, pages: page - 1, items });
        return false;
      }
      const row = { kind: 'walk' as const, pipeline, lane, key, request, state: 'working' as const, pages: page - 1, items };
      walks.set(request, { ...row, ...(group !== undefined && { group }) });
      return true;
    },
    pageWritten(request, page, items) {
      change(request, { pages: page, items: (walks.get(request)?.items ?? 0) + items });
    },
    end(request, to) {
      change(request, { ...to, isAway: false });
      endedWalks += 1;
      if (endedWalks <= KEPT_WALKS) return;
      endedWalks -= 1;
      forget(({ state }) => state !== 'working');
    },
    leave({ pipeline, lane }) {
      for (const [request, walk] of walks) {
        if (walk.state !== 'working' || walk.isAway || walk.pipeline !== pipeline || walk.lane !== lane) continue;
        walks.set(request, { ...walk, isAway: true });
        awayWalks += 1;
        if (awayWalks <= KEPT_AWAY) continue;
        awayWalks -= 1;
        forget(({ isAway }) => isAway === true);
      }
    },
    *rows(work) {
      const gauges = new Map(work.flatMap((gauge) => (gauge.request === undefined ? [] : [[gauge.request, gauge] as const])));
      for (const { isAway, ...walk } of walks.values()) {
        const gauge = gauges.get(walk.request);
        gauges.delete(walk.request);
        if (isAway === true) continue;
        const expected = gauge?.expected;
        yield {
          ...walk,
          ...(expected !== undefined && { expected: Math.max(expected, walk.pages) }),
          ...(gauge !== undefined && { doing: gauge.doing }),
        };
      }
      // These walks have no row, for example because an earlier run completed them. This run does the work after them.
      for (const { pipeline, lane, key, request = '', doing } of gauges.values()) {
        if (doing.state === 'behind') yield { kind: 'walk', pipeline, lane, key, request, state: 'completed', pages: 0, items: 0, doing };
      }
    },
  };
}
