import type { Reason, JobEvent, WorkGauge } from '../events/events.ts';
import type { WalkRow } from './run-snapshot.ts';

/** Maximum number of ended walks that are kept. */
const KEPT_WALKS = 1_000;
/** Maximum number of unfinished walks that are kept while this process doesn't hold their lane. */
const KEPT_AWAY = 10_000;

/** `isAway`: true if this process no longer holds the walk's lane. */
type Walk = Omit<WalkRow, 'doing' | 'expected'> & { readonly isAway?: boolean };

/** The display rows of a run's walks, in bounded memory. */
export class WalkRows {
  readonly #walks = new Map<string, Walk>();
  #ended = 0;
  #away = 0;

  /** Adds a walk. Returns false if the walk was already known and continues. */
  started({ pipeline, lane, key, request, page, items, group }: Extract<JobEvent, { type: 'request-started' }>): boolean {
    const before = this.#walks.get(request);
    // This process has taken the lane again, and the walk continues.
    if (before?.state === 'working') {
      if (before.isAway) this.#away -= 1;
      this.#walks.set(request, { ...before, isAway: false, pages: page - 1, items });
      return false;
    }
    const row = { kind: 'walk' as const, pipeline, lane, key, request, state: 'working' as const, pages: page - 1, items };
    this.#walks.set(request, { ...row, ...(group !== undefined && { group }) });
    return true;
  }

  pageWritten(request: string, page: number, items: number): void {
    this.#change(request, { pages: page, items: (this.#walks.get(request)?.items ?? 0) + items });
  }

  end(
    request: string,
    to: { readonly state: 'completed'; readonly pages: number } | { readonly state: 'failed'; readonly error: Reason },
  ): void {
    this.#change(request, { ...to, isAway: false });
    this.#ended += 1;
    if (this.#ended <= KEPT_WALKS) return;
    this.#ended -= 1;
    this.#forget(({ state }) => state !== 'working');
  }

  /** Hides the active walks of a lane that this process no longer holds. */
  leave({ pipeline, lane }: { readonly pipeline: string; readonly lane: number }): void {
    for (const [request, walk] of this.#walks) {
      if (walk.state !== 'working' || walk.isAway || walk.pipeline !== pipeline || walk.lane !== lane) continue;
      this.#walks.set(request, { ...walk, isAway: true });
      this.#away += 1;
      if (this.#away <= KEPT_AWAY) continue;
      this.#away -= 1;
      this.#forget(({ isAway }) => isAway === true);
    }
  }

  /** `work`: gauges of the active work. */
  *rows(work: readonly WorkGauge[]): Generator<WalkRow> {
    const gauges = new Map(work.flatMap((gauge) => (gauge.request === undefined ? [] : [[gauge.request, gauge] as const])));
    for (const { isAway, ...walk } of this.#walks.values()) {
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
  }

  #change(request: string, to: Partial<Walk>): void {
    const walk = this.#walks.get(request);
    if (walk !== undefined) this.#walks.set(request, { ...walk, ...to });
  }

  /** Removes the oldest walk for which `isOld` is true. */
  #forget(isOld: (walk: Walk) => boolean): void {
    const [oldest] = Iterator.from(this.#walks.values()).filter(isOld).take(1);
    if (oldest !== undefined) this.#walks.delete(oldest.request);
  }
}
