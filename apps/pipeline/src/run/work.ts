import { type Clock, type CreditPool, creditPool } from '@headgate/throttle';
import type { TopicLog } from '@headgate/topics';
import type { BooksConfig, Config, FollowersConfig } from '../config/config.ts';
import { booksFlow } from '../flows/books-flow.ts';
import { followersFlow } from '../flows/followers-flow.ts';
import { bell } from '../lanes/bell.ts';
import { laneJournal } from '../lanes/lane-journal.ts';
import { type Lane, openLane } from '../lanes/lane.ts';
import { workLane } from '../lanes/work-lane.ts';
import { TOPICS, statePartition } from '../records/topic-names.ts';
import type { RunEvent, RunGauges, ServiceName } from '../status/run-event.ts';
import { booksService, followersService } from './services.ts';
import { serviceGauges } from './service-gauges.ts';

export interface WorkOptions {
  readonly config: Config;
  readonly log: TopicLog;
  readonly follow: boolean;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly emit: (event: RunEvent) => void;
}

/** All lanes of all services, held and ready to work. */
export interface Work {
  /** Works until nothing is left, or until the signal. Returns why lanes could not go on; the others did. */
  run(): Promise<readonly unknown[]>;
  gauges(): RunGauges;
}

/** One lane of one service. */
interface Part {
  run(): Promise<void>;
  gauges(): RunGauges;
  close(): Promise<void>;
}

/** Takes every lane. Throws what `openLane` throws. */
export async function openWork(options: WorkOptions): Promise<Work> {
  const parts: Part[] = [];
  try {
    const { followers } = options.config;
    const { lanes } = options.config.topics;
    for (let lane = 0; followers !== undefined && lane < lanes; lane += 1) {
      // A lane's credentials are its own: two lanes that shared one would overrun it.
      const credentials = followers.credentials.filter((_, i) => i % lanes === lane);
      parts.push(await followersPart(options, { ...followers, credentials }, lane));
    }
    if (options.config.books !== undefined) parts.push(await booksPart(options, options.config.books));
  } catch (error) {
    await Promise.allSettled(parts.map((part) => part.close()));
    throw error;
  }
  return {
    async run() {
      const results = await Promise.allSettled(parts.map(runAndClose));
      return results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    },
    gauges() {
      const all = parts.map((part) => part.gauges());
      return {
        budgets: all.flatMap(({ budgets }) => budgets),
        credits: all.flatMap(({ credits }) => credits),
        activities: all.flatMap(({ activities }) => activities),
      };
    },
  };
}

async function runAndClose(part: Part): Promise<void> {
  try {
    await part.run();
  } finally {
    await part.close();
  }
}

/** Requests taken per lane before the rest is left in the topic. */
const BACKLOG = 500;

async function followersPart(options: WorkOptions, config: FollowersConfig, partition: number): Promise<Part> {
  const { log, clock, emit, follow, signal } = options;
  const lane = await openServiceLane(options, 'followers', TOPICS.followersRequests, partition);
  const api = followersService(config, { ...options, journal: laneJournal({ lane, clock }) });
  const credits = creditPool({ max: config.maxOutstanding });
  const waker = bell({ clock });
  const flow = followersFlow({
    api,
    lane,
    bell: waker,
    credits,
    count: config.count,
    emitPages: config.emit.includes('pages'),
    emitIds: config.emit.includes('ids'),
    dropBoundaryDuplicates: config.dropBoundaryDuplicates,
    clock,
    emit,
  });
  return {
    run: () => workLane({ log, lane, flow, bell: waker, backlog: BACKLOG, follow, signal }),
    gauges: () => serviceGauges({ service: 'followers', gauges: api.gauges(), credits, clock }),
    close: closing(api, lane),
  };
}

async function booksPart(options: WorkOptions, config: BooksConfig): Promise<Part> {
  const { log, clock, emit, follow, signal } = options;
  const lane = await openServiceLane(options, 'books', TOPICS.booksRequests, 0);
  const api = booksService(config, { ...options, journal: laneJournal({ lane, clock }) });
  const credits: CreditPool = creditPool({ max: config.maxOutstanding });
  const waker = bell({ clock });
  const flow = booksFlow({
    api,
    lane,
    bell: waker,
    credits,
    maxBatch: Math.min(config.maxBatch, config.perDay?.isbns ?? Infinity),
    clock,
    emit,
  });
  return {
    run: () => workLane({ log, lane, flow, bell: waker, backlog: Math.max(BACKLOG, 2 * config.maxBatch), follow, signal }),
    gauges: () => serviceGauges({ service: 'books', gauges: api.gauges(), credits, clock }),
    close: closing(api, lane),
  };
}

function openServiceLane({ log, config, clock }: WorkOptions, service: ServiceName, topic: string, partition: number): Promise<Lane> {
  return openLane({
    log,
    group: config.topics.group,
    service,
    topic,
    partition,
    state: { topic: TOPICS.state, partition: statePartition(service, partition) },
    clock,
  });
}

function closing(api: { close(): Promise<void> }, lane: Lane): () => Promise<void> {
  return async () => {
    await api.close();
    await lane.close();
  };
}
