import { type Clock, creditPool } from '@headgate/throttle';
import type { HeldBack, TopicLog } from '@headgate/topics';
import type { Config } from '../config/config.ts';
import { booksFlow } from '../flows/books-flow.ts';
import { crawlComparisons } from '../flows/crawl-comparisons.ts';
import { followersFlow } from '../flows/followers-flow.ts';
import { type Bell, bell } from '../lanes/bell.ts';
import { inheritedBudgets } from '../lanes/inherited-budgets.ts';
import { laneJournal } from '../lanes/lane-journal.ts';
import { type Lane, openLane } from '../lanes/lane.ts';
import { BACKLOG, workLane } from '../lanes/work-lane.ts';
import { TOPICS } from '../records/topic-names.ts';
import type { RunEvent, RunGauges, ServiceName } from '../status/run-event.ts';
import { assertStateKept, topicGone } from './kept-state.ts';
import { outgrown } from './lane-outgrown-error.ts';
import { booksService, followersService } from './services.ts';
import { serviceGauges } from './service-gauges.ts';

export interface ServiceLaneOptions {
  readonly config: Config;
  readonly log: TopicLog;
  /** Stay when nothing is left. */
  readonly follow: boolean;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly emit: (event: RunEvent) => void;
}

/** One lane of one service, held by this process and ready to work. */
export interface ServiceLane {
  /** Works until nothing is left, or until the signal. Rejects when the lane can't go on. */
  run(signal: AbortSignal): Promise<void>;
  /** Finds out whether the lane is still this process's: one without work would not notice. Where it isn't, `run` rejects. */
  confirm(): void;
  gauges(): RunGauges;
  /** Gives the lane up. */
  close(): Promise<void>;
}

/** The requests topics of the services a config has. */
export function requestsTopics({ followers, books }: Config): string[] {
  return [...(followers === undefined ? [] : [TOPICS.followersRequests]), ...(books === undefined ? [] : [TOPICS.booksRequests])];
}

/** Takes the lane of a requests topic's partition. Throws what `TopicLog.openLane` throws, and a `StateLostError`. */
export async function openServiceLane(
  options: ServiceLaneOptions,
  service: ServiceName,
  number: number,
  signal: AbortSignal,
): Promise<ServiceLane> {
  const { lane, journal } = await openJournalledLane({ ...options, service, number, signal });
  try {
    const opened = service === 'followers' ? followersLane(options, lane, journal) : booksLane(options, lane, journal);
    return {
      ...opened,
      run: (leave) => opened.run(leave).catch(async (error: unknown) => Promise.reject(await whyEnded(error, { ...options, lane }))),
    };
  } catch (error) {
    await lane.close();
    throw error;
  }
}

export interface OpenJournalledLaneOptions {
  readonly config: Pick<Config, 'topics'>;
  readonly log: TopicLog;
  readonly clock: Clock;
  readonly service: ServiceName;
  /** The partition of its requests topic. */
  readonly number: number;
  /** Gives up before the lane is taken. */
  readonly signal?: AbortSignal;
  /** Leaves it to whoever works it now. Default false. */
  readonly onlyIfFree?: boolean;
}

/** Takes a lane, with what it knows of its credentials' budgets. Throws what `TopicLog.openLane` throws, and a `StateLostError`. */
export async function openJournalledLane({
  config,
  log,
  clock,
  service,
  number,
  ...opening
}: OpenJournalledLaneOptions): Promise<{ readonly lane: Lane; readonly journal: LaneJournal }> {
  const { group, lanes } = config.topics;
  const lane = await openLane({ log, group, service, partition: number, clock, ...opening });
  try {
    await assertStateKept({
      log,
      topics: config.topics,
      service,
      lane: number,
      next: lane.stateUnder('lane').length > 0 ? lane.next : undefined,
    });
    const inherited = service === 'followers' ? await inheritedBudgets({ log, group, service, lane: number, lanes }) : [];
    return { lane, journal: laneJournal({ lane, clock, inherited }) };
  } catch (error) {
    await lane.close();
    throw error;
  }
}

async function whyEnded(error: unknown, { log, lane, config }: ServiceLaneOptions & { readonly lane: Lane }): Promise<unknown> {
  return topicGone(await outgrown(error, { log, lane }), config.topics);
}

function confirm(lane: Lane, waker: Bell): void {
  lane.commit({ records: [] }).catch((error: unknown) => waker.fail(error));
}

type LaneJournal = ReturnType<typeof laneJournal>;

function followersLane(options: ServiceLaneOptions, lane: Lane, journal: LaneJournal): ServiceLane {
  const { log, clock, emit, follow, config: whole } = options;
  const config = configured(whole.followers);
  // A lane's credentials are its own: two lanes that shared one would overrun it.
  const credentials = config.credentials.filter((_, i) => i % whole.topics.lanes === lane.partition);
  const api = followersService({ ...config, credentials }, { ...options, journal });
  const credits = creditPool({ max: config.maxOutstanding });
  const waker = bell({ clock });
  const flow = followersFlow({
    api,
    lane,
    bell: waker,
    credits,
    count: config.count,
    maxEmptyPages: config.maxEmptyPages,
    stringifyIds: config.stringifyIds,
    emitPages: config.emit.includes('pages'),
    emitIds: config.emit.includes('ids'),
    comparisons: config.emit.includes('changes') ? crawlComparisons({ log, lane, bell: waker, clock, emit }) : undefined,
    dropBoundaryDuplicates: config.dropBoundaryDuplicates,
    clock,
    emit,
  });
  const onHeldBack = heldBackEvents({ service: 'followers', lane: lane.partition, emit });
  return {
    run: (signal) => workLane({ log, lane, flow, bell: waker, backlog: BACKLOG, follow, clock, onHeldBack, signal }),
    confirm: () => confirm(lane, waker),
    gauges: () => serviceGauges({ service: 'followers', gauges: api.gauges(), credits, clock }),
    close: closing(api, lane),
  };
}

function booksLane(options: ServiceLaneOptions, lane: Lane, journal: LaneJournal): ServiceLane {
  const { log, clock, emit, follow } = options;
  const config = configured(options.config.books);
  const api = booksService(config, { ...options, journal });
  const credits = creditPool({ max: config.maxOutstanding });
  const waker = bell({ clock });
  const maxBatch = Math.min(config.maxBatch, config.perDay?.isbns ?? Infinity);
  const { pageSize, maxPages } = config;
  const flow = booksFlow({ api, lane, bell: waker, credits, maxBatch, pageSize, maxPages, clock, emit });
  const backlog = Math.max(BACKLOG, 2 * config.maxBatch);
  const onHeldBack = heldBackEvents({ service: 'books', lane: lane.partition, emit });
  return {
    run: (signal) => workLane({ log, lane, flow, bell: waker, backlog, follow, clock, onHeldBack, signal }),
    confirm: () => confirm(lane, waker),
    gauges: () => serviceGauges({ service: 'books', gauges: api.gauges(), credits, clock }),
    close: closing(api, lane),
  };
}

function heldBackEvents({
  service,
  lane,
  emit,
}: {
  readonly service: ServiceName;
  readonly lane: number;
  readonly emit: (event: RunEvent) => void;
}): (heldBack: HeldBack | undefined) => void {
  return (heldBack) =>
    emit(
      heldBack === undefined
        ? { type: 'requests-readable', service, lane }
        : { type: 'requests-held-back', service, lane, offset: heldBack.offset, since: heldBack.sinceMs },
    );
}

function configured<Section>(section: Section | undefined): Section {
  if (section === undefined) throw new TypeError('A lane was taken of a service that is not configured.');
  return section;
}

function closing(api: { close(): Promise<void> }, lane: Lane): () => Promise<void> {
  return async () => {
    await api.close();
    await lane.close();
  };
}
