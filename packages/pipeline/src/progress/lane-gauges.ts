import type { QueryStatus } from '@headgate/sources';
import type { CreditPool } from '@headgate/throttle';
import type { JobGroups } from '../definition/pipeline-definition.ts';
import type { Doing, RunGauges, WorkGauge } from '../events/events.ts';
import { type LaneWork, type WalkSize, pagesLeft } from './forecast.ts';
import type { LaneBacklog } from './request-sizes.ts';
import type { AfterInWork, Job, SourceControls, WalkInWork } from '../definition/processor.ts';

export interface LaneGaugesOptions {
  readonly pipeline: string;
  readonly lane: number;
  readonly sources: readonly SourceControls[];
  readonly credits: CreditPool;
  readonly inWork: InWork;
  /** Number of unfinished requests and keys that the lane has taken. */
  readonly load: number;
  /** The expected pages of the active and the waiting walks, by offset. */
  readonly expected: ReadonlyMap<number, number>;
  readonly behind: LaneBacklog;
  readonly groups?: JobGroups | undefined;
  /** The current time, epoch ms. */
  readonly now: number;
}

/** What the unfinished jobs of a lane do. */
export interface InWork {
  readonly walks: readonly WalkInWork[];
  /** Number of lookup keys whose results aren't durable yet. */
  readonly keys: number;
  /** The running work after a walk. */
  readonly after: AfterInWork | undefined;
}

export function inWorkOf(jobs: Iterable<Job>): InWork {
  const all = Array.from(jobs, ({ doing }) => doing);
  return {
    walks: all.filter((doing) => doing?.kind === 'walk'),
    keys: all.filter((doing) => doing?.kind === 'key').length,
    after: all.find((doing) => doing?.kind === 'after'),
  };
}

/** A wait of at most this many ms is shown as none, because displays refresh less often. */
const NO_WAIT_MS = 20;

/** Returns the gauges of a lane. The activity of its walks and lookups comes from its sources. */
export function laneGauges(options: LaneGaugesOptions): RunGauges {
  const { pipeline, lane, sources, credits, inWork, load, expected, behind, groups, now } = options;
  const gauges = sources.map((source) => source.gauges());
  const waiting = inWork.walks.length - active(inWork).length;
  const areWriting = new Map(active(inWork).map(({ walk, isWriting }) => [walk, isWriting]));
  const walks = new Map<object, Doing>();
  const lookups: Doing[] = [];
  for (const query of gauges.flatMap(({ queries }) => queries)) {
    const doing = doingOf(query, now);
    const isWriting = areWriting.get(query.id);
    if (isWriting === undefined) lookups.push(doing);
    // A walk can queue its next request while a page is being written. It is shown as writing until that request is sent.
    else if (doing.state !== 'waiting' || !isWriting) walks.set(query.id, doing);
  }
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
      ...active(inWork).map(({ offset, request, key, walk }): WorkGauge => {
        const pages = expected.get(offset);
        return {
          pipeline,
          lane,
          key,
          request,
          ...(pages !== undefined && { expected: pages }),
          doing: walks.get(walk) ?? { state: 'writing' },
        };
      }),
      ...(inWork.keys > 0 ? [{ pipeline, lane, key: '', doing: together(lookups) }] : []),
      ...(inWork.after === undefined ? [] : [afterGauge(pipeline, lane, inWork.after)]),
    ],
    outages: gauges.flatMap(({ outage }) => (outage === undefined ? [] : [{ pipeline, ...outage }])),
    lanes: [
      {
        pipeline,
        lane,
        inWork: load - waiting,
        behind: behind.walks + waiting,
        isCounted: behind.isCounted,
        ...(groups !== undefined && { groups: behindByGroup(groups, inWork, behind) }),
        keys: inWork.keys + behind.keys,
      },
    ],
  };
}

function behindByGroup(groups: JobGroups, { walks }: InWork, behind: LaneBacklog): Readonly<Record<string, number>> {
  const all = new Map(behind.groups);
  for (const { key, walk } of walks) if (walk === undefined) all.set(groups.of(key), (all.get(groups.of(key)) ?? 0) + 1);
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

function afterGauge(pipeline: string, lane: number, { key, request, name }: AfterInWork): WorkGauge {
  return { pipeline, lane, key, request, doing: { state: 'behind', name } };
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

type ActiveWalk = WalkInWork & Required<Pick<WalkInWork, 'walk'>>;

function active({ walks }: InWork): readonly ActiveWalk[] {
  return walks.filter((walk): walk is ActiveWalk => walk.walk !== undefined);
}

/** Returns the work that isn't active: requests that the lane hasn't taken, and jobs that wait for the active walk of their key. */
function inactive({ inWork, expected, behind }: Pick<LaneGaugesOptions, 'inWork' | 'expected' | 'behind'>): LaneWork['behind'] & {} {
  const waiting = inWork.walks.filter(({ walk }) => walk === undefined).map((walk) => sizeOf(walk, expected));
  return {
    walks: behind.walks + waiting.length,
    unknown: behind.unknown + waiting.filter(({ pages }) => pages === undefined).length,
    pages: behind.pages + waiting.reduce((sum, walk) => sum + (pagesLeft(walk) ?? 0), 0),
  };
}

function sizeOf({ offset, page }: WalkInWork, expected: ReadonlyMap<number, number>): WalkSize {
  const pages = expected.get(offset);
  return { page, ...(pages !== undefined && { pages }) };
}

export function laneWork(options: Omit<LaneGaugesOptions, 'credits' | 'load' | 'now' | 'groups'>): LaneWork {
  const { pipeline, lane, sources, inWork, expected, behind } = options;
  const queries = sources.flatMap((source) => source.gauges().queries);
  return {
    pipeline,
    lane,
    walks: active(inWork).map((walk) => sizeOf(walk, expected)),
    behind: inactive(options),
    keys: inWork.keys + behind.keys,
    keysPerRequest: behind.keysPerRequest,
    inFlight: queries.filter(({ state }) => state === 'requesting').length,
    budgets: sources.flatMap((source) => source.slots()),
  };
}
