import { TopicLogError } from '../../topic-log-error.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from './cluster.ts';
import { aboutTopic, chain, failureText, verdictOf } from './driver-errors.ts';
import { brokerOf } from './error-kinds.ts';
import { metadata as metadataRequest } from '../requests/topics.ts';
import { withinTime } from './time-limit.ts';

/** Delay until the next broker is tried in addition to the earlier ones, which may still respond. */
const NEXT_AFTER_MS = 1_000;
const REACHABLE_WITHIN_MS = 7_000;
const MAX_NAMED = 3;

/**
 * The addresses that the user configured, and those at which a broker has responded. Any other address is known only from the brokers'
 * `advertised.listeners`, and may be unreachable from this machine.
 */
export class BrokerAddresses {
  readonly #given: ReadonlySet<string>;
  readonly #answered = new Set<string>();
  readonly #silent = new Set<string>();

  /** `given`: `host:port` of the brokers in the user's options. */
  constructor(given: readonly string[]) {
    this.#given = new Set(given);
  }

  /** The addresses in the user's options. Those that don't respond come last, so that a new client doesn't wait for them first. */
  get toTry(): string[] {
    return [...this.#given].toSorted((one, other) => Number(this.#silent.has(one)) - Number(this.#silent.has(other)));
  }

  /** True if the cluster is known to have several brokers. */
  get areSeveral(): boolean {
    return new Set([...this.#given, ...this.#answered]).size > 1;
  }

  answered(address: string): void {
    this.#answered.add(address);
    this.#silent.delete(address);
  }

  silent(address: string): void {
    this.#silent.add(address);
  }

  /** Adds to `reason` where an address comes from and what to do, if the user didn't configure the address and no broker has responded there. */
  explained(reason: string, address: string | undefined): string {
    if (address === undefined || this.#given.has(address) || this.#answered.has(address)) return reason;
    const reporter = [...this.#given].find((one) => this.#answered.has(one));
    const where = reporter === undefined ? '' : ` (as reported by ${reporter})`;
    return `the brokers advertise ${address}${where}, but no broker answers there: ${reason}. ${CURE}`;
  }

  /** Returns the text of an error, with the topic that it is about and the explanation of `explained`. */
  readonly failureText = (error: unknown): string => this.explained(withTopic(failureText(error), error), brokerOf(error));
}

function withTopic(text: string, error: unknown): string {
  const topic = [...chain(error)].find((each) => each.topic !== undefined)?.topic;
  return topic !== undefined && text.includes(topic) ? text : text + aboutTopic(topic);
}

const CURE = 'If that broker is running, set its advertised.listeners to an address that this machine can reach';

/**
 * Checks that at least one broker responds at its advertised address. `cluster` must have loaded its metadata. Throws a `TopicLogError`
 * (HEADGATE_KAFKA_ADVERTISED_ADDRESS) if none does, or the broker's error if a broker refuses the request.
 */
export async function assertAdvertised(cluster: Cluster): Promise<void> {
  const { brokers, metadata } = cluster.brokerPool;
  if (Object.values(brokers).some((broker) => broker.isConnected())) return;
  const over = new AbortController();
  const advertised = metadata?.brokers ?? [];
  const failures = new Map(advertised.map(({ host, port }) => [`${host}:${port}`, `no answer within ${REACHABLE_WITHIN_MS / 1_000} s`]));
  const tries = advertised.map(async ({ nodeId, host, port }, index) => {
    await sleep(index * NEXT_AFTER_MS, undefined, { signal: over.signal });
    try {
      // A proxy or load balancer can accept a connection without a broker, so the broker must also answer a request.
      await cluster.ask(metadataRequest, { topics: [] }, { broker: await cluster.findBroker({ nodeId }) });
    } catch (error) {
      failures.set(`${host}:${port}`, failureText(error));
      throw error;
    }
  });
  try {
    await withinTime(REACHABLE_WITHIN_MS, Promise.any(tries));
  } catch (cause) {
    // An error that a retry can't resolve, such as a refusal, doesn't come from a wrong address.
    const refusal: unknown =
      cause instanceof AggregateError ? cause.errors.find((error: unknown) => verdictOf(error) !== 'passes') : undefined;
    if (refusal !== undefined) throw refusal;
    throw unreachable(failures, cause);
  } finally {
    over.abort();
  }
}

function unreachable(failures: ReadonlyMap<string, string>, cause: unknown): TopicLogError {
  const named = [...failures].slice(0, MAX_NAMED).map(([address, reason]) => `${address} (${reason})`);
  const more = failures.size > named.length ? ` and ${failures.size - named.length} more` : '';
  const message = `the brokers advertise ${named.join(', ')}${more}, but no broker answers at its advertised address`;
  return new TopicLogError({ code: 'HEADGATE_KAFKA_ADVERTISED_ADDRESS', retryable: true, message }, { cause });
}
