import type { GroupMember } from '@headgate/topics';
import type { Config } from '../config/config.ts';
import { digest } from '../flows/digest.ts';
import type { RunGauges } from '../status/run-event.ts';
import { laneWorkers } from './lane-workers.ts';
import { type ServiceLaneOptions, openServiceLane, requestsTopics } from './service-lane.ts';

export interface WorkOptions extends ServiceLaneOptions {
  /** Ends the work gracefully. */
  readonly signal: AbortSignal;
}

/** All lanes that are this process's, held and ready to work. */
export interface Work extends AsyncDisposable {
  /** Works until nothing is left, or until the signal. Returns why lanes could not go on; the others did. */
  run(): Promise<readonly unknown[]>;
  gauges(): RunGauges;
  /** Ends the work, begun or not: gives up the lanes, closes their connections and leaves the group. Idempotent. */
  close(): Promise<void>;
}

/** Joins the group, and takes the lanes it is given. Throws what `TopicLog.joinGroup` and `openLane` throw. */
export async function openWork(options: WorkOptions): Promise<Work> {
  const { config, log, follow, signal, clock, emit } = options;
  const workers = laneWorkers({
    open: (service, lane, leave) => openServiceLane(options, service, lane, leave),
    lanes: (config.followers === undefined ? 0 : config.topics.lanes) + (config.books === undefined ? 0 : 1),
    follow,
    signal,
    clock,
    emit,
  });
  let member: GroupMember | undefined;
  const close = async (): Promise<void> => {
    await workers.close();
    await member?.leave();
  };
  try {
    member = await log.joinGroup({
      group: config.topics.group,
      topics: requestsTopics(config),
      agreement: agreement(config),
      onAssigned: (partitions) => workers.assign(partitions),
      onUncertain: () => workers.doubt(),
      onFailed: (error) => workers.fail(error),
    });
    await workers.opened();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    gauges: () => workers.gauges(),
    async run() {
      try {
        return await workers.run();
      } finally {
        await close();
      }
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** What all processes of a group have to agree on: which credentials each lane has, and their budgets. */
function agreement({ topics, followers, books }: Config): string {
  const terms = {
    lanes: topics.lanes,
    followers: followers && { credentials: followers.credentials.map(({ name }) => name), limit: followers.limit },
    books: books && { plan: books.plan, perDay: books.perDay },
  };
  return digest(JSON.stringify(terms), 16);
}
