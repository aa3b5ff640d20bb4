import type { QueryStatus } from '@headgate/sources';
import type { CreditPool } from '@headgate/throttle';
import type { Pipeline } from '../definition/pipeline.ts';
import type { JobGroups } from '../definition/pipeline-definition.ts';
import type { Job, SourceControls, WalkInWork } from '../definition/processor.ts';
import type { Doing, RunGauges, WorkGauge } from '../events/events.ts';
import { type LaneWork, type WalkSize, pagesLeft } from './forecast.ts';
import type { LaneBacklog } from './job-sizes.ts';

/** A lane as gauges and forecasts see it. All of it is live. */
export interface LaneView {
  readonly pipeline: Pick<Pipeline, 'name' | 'groups'>;
  readonly lane: number;
  readonly sources: readonly SourceControls[];
  readonly credits: CreditPool;
  /** The unfinished jobs that the lane has taken. */
  readonly jobs: Iterable<Job> & { readonly size: number };
  /** The jobs that it hasn't taken. */
  readonly backlog: LaneBacklog;
}

/** A wait of at most this many ms is shown as none, because displays refresh less often. */
const NO_WAIT_MS = 20;

/** Returns the gauges of a lane. The activity of its walks and lookups comes from its sources. `now`: the current time, epoch ms. */
export function laneGauges(view: LaneView, now: number): RunGauges {
  const { lane, sources, credits, jobs, backlog } = view;
  const { name: pipeline, groups } = view.pipeline;
  const gauges = sources.map((source) => source.gauges());
  const { active, waiting, keys } = inWorkOf(jobs);
  const areWriting = new Map(active.map(({ walk, isWriting }) => [walk, isWriting]));
  const walks = new Map<object | undefined, Doing>();
  const lookups: Doing[] = [];
  for (const query of gauges.flatMap(({ queries }) => queries)) {
    const doing = doingOf(query, now);
    const isWriting = areWriting.get(query.id);
    if (isWriting === undefined) lookups.push(doing);
    // A walk can queue its next request while a page is being written. It is shown as writing until that request is sent.
    else if (doing.state !== 'waiting' || !isWriting) walks.set(query.id, doing);
  }
  const afterwards = Array.from(jobs).flatMap(({ doing }) => (doing?.kind === 'after' ? [doing] : []));
  return {
    budgets: gauges.flatMap(({ budgets }) =>
      budgets.map(({ freeAt, ...budget }) => ({
        pipeline,
        ...budget,
        ...(freeAt !== undefined && { freeAt: freeAt <= now + NO_WAIT_MS ? now : freeAt }),
      })),
    ),
    credits: [{ pipeline, max: credits.max, used: credits.outstanding }],
    work: [
      ...active.map(({ request, key, walk, expected }): WorkGauge => ({
        pipeline,
        lane,
        key,
        request,
        ...(expected !== undefined && { expected }),
        doing: walks.get(walk) ?? { state: 'writing' },
      })),
      ...(keys > 0 ? [{ pipeline, lane, key: '', doing: together(lookups) }] : []),
      ...afterwards
        .slice(0, 1)
        .map(({ key, request, name }): WorkGauge => ({ pipeline, lane, key, request, doing: { state: 'behind', name } })),
    ],
    outages: gauges.flatMap(({ outage }) => (outage === undefined ? [] : [{ pipeline, ...outage }])),
    lanes: [
      {
        pipeline,
        lane,
        inWork: jobs.size - waiting.length,
        behind: backlog.walks + waiting.length,
        isCounted: backlog.isCounted,
        ...(groups !== undefined && { groups: behindByGroup(groups, waiting, backlog) }),
        keys: keys + backlog.keys,
      },
    ],
  };
}

/** Returns the remaining work of a lane. Jobs that wait for the active walk of their key follow the active ones. */
export function laneWork({ pipeline, lane, sources, jobs, backlog }: LaneView): LaneWork {
  const { active, waiting, keys } = inWorkOf(jobs);
  const sizes = waiting.map((walk) => pagesLeft(sizeOf(walk)));
  return {
    pipeline: pipeline.name,
    lane,
    walks: active.map(sizeOf),
    behind: {
      walks: backlog.walks + waiting.length,
      unknown: backlog.unknown + sizes.filter((size) => size === undefined).length,
      pages: sizes.reduce<number>((sum, size) => sum + (size ?? 0), backlog.pages),
    },
    keys: keys + backlog.keys,
    keysPerRequest: backlog.keysPerRequest,
    inFlight: sources.flatMap((source) => source.gauges().queries).filter(({ state }) => state === 'requesting').length,
    budgets: sources.flatMap((source) => source.slots()),
  };
}

interface SizedWalk extends WalkInWork {
  readonly expected: number | undefined;
}

function inWorkOf(jobs: Iterable<Job>) {
  const all = Array.from(jobs);
  const walks = all.flatMap(({ doing, expected }): SizedWalk[] => (doing?.kind === 'walk' ? [{ ...doing, expected }] : []));
  return {
    active: walks.filter(({ walk }) => walk !== undefined),
    waiting: walks.filter(({ walk }) => walk === undefined),
    keys: all.filter(({ doing }) => doing?.kind === 'key').length,
  };
}

function sizeOf({ page, expected }: SizedWalk): WalkSize {
  return { page, ...(expected !== undefined && { pages: expected }) };
}

function behindByGroup(groups: JobGroups, waiting: readonly WalkInWork[], backlog: LaneBacklog): Readonly<Record<string, number>> {
  const all = new Map(backlog.groups);
  for (const { key } of waiting) all.set(groups.of(key), (all.get(groups.of(key)) ?? 0) + 1);
  return Object.fromEntries(all);
}

function doingOf(query: QueryStatus, now: number): Doing {
  const until = query.state !== 'requesting' && query.until !== undefined ? { until: Math.max(now, query.until) } : {};
  const { credentials } = query;
  switch (query.state) {
    case 'queued':
      return { state: 'waiting', for: query.for, ...until, ...(credentials !== undefined && { credentials }) };
    case 'service-down':
      return { state: 'waiting', for: 'service', ...until };
    case 'requesting':
      return { state: 'requesting', since: query.since };
    case 'retrying':
      return { state: 'retrying', at: query.until, reason: query.reason };
  }
}

/** Returns the most active state of several lookups. */
function together(all: readonly Doing[]): Doing {
  const when = (doing: Doing): number => {
    if (doing.state === 'requesting') return doing.since;
    if (doing.state === 'retrying') return doing.at;
    return doing.state === 'waiting' ? (doing.until ?? Infinity) : 0;
  };
  const order = ['requesting', 'retrying', 'waiting'];
  const [first] = all.toSorted((one, other) => order.indexOf(one.state) - order.indexOf(other.state) || when(one) - when(other));
  return first ?? { state: 'writing' };
}
