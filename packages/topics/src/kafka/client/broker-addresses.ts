import { ConnectionError } from './connection-error.ts';
import { aboutTopic, chain, failureText } from './driver-errors.ts';
import { brokerOf } from './error-kinds.ts';

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

  /** `addresses` in the order to try them; default: those of the user's options. The ones that didn't respond come last. */
  inOrder(addresses: Iterable<string> = this.#given): readonly string[] {
    return [...addresses].toSorted((one, other) => Number(this.#silent.has(one)) - Number(this.#silent.has(other)));
  }

  get areReached(): boolean {
    return this.#answered.size > 0;
  }

  /** True if the cluster is known to have several brokers. */
  get areSeveral(): boolean {
    return new Set([...this.#given, ...this.#answered]).size > 1;
  }

  answered(address: string): void {
    this.#answered.add(address);
    this.#silent.delete(address);
  }

  /** The error of an address that doesn't respond at the moment. */
  get silence(): ConnectionError | undefined {
    const [address] = this.#silent;
    return address === undefined ? undefined : new ConnectionError(address, new Error(silenceOf(address)));
  }

  silent(address: string): void {
    this.#silent.add(address);
  }

  /**
   * The reason of an outage in which a broker owes a response. `mayWait`: it may be waiting for another broker, so the silence may be
   * that one's.
   */
  silentReason(address: string, mayWait: boolean): string {
    return this.explained(`${silenceOf(address)}${mayWait ? ', or waits for another broker' : ''}`, address);
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

/** The words for a broker that sends nothing. */
export function silenceOf(address: string): string {
  return `${address} isn't responding`;
}

function withTopic(text: string, error: unknown): string {
  const topic = [...chain(error)].find((each) => each.topic !== undefined)?.topic;
  return topic !== undefined && text.includes(topic) ? text : text + aboutTopic(topic);
}

const CURE = 'If that broker is running, set its advertised.listeners to an address that this machine can reach';
