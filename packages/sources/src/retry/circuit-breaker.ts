import type { Clock } from '@headgate/throttle';
import type { SourceOutage } from '../source.ts';
import { Circuit, STRIKES, Suspect } from './circuit.ts';

/** An error that may show an outage. */
export interface Fault {
  /**
   * - `unreached`: no byte of the request was sent, so the request can't be at fault.
   * - `down`: the request was sent, and no byte of a response came, or the status says that the service is unavailable, such as 503.
   * - `unusable`: a complete response came that the source can't use, such as a 500 or HTML. So the service is up, unless it responds so to
   *   everyone.
   * - `unreadable`: a response came that is incomplete, or isn't HTTP. So the service is up.
   */
  readonly kind: 'unreached' | 'down' | 'unusable' | 'unreadable';
  readonly reason: string;
  /** Minimum wait that the response requests, in ms. */
  readonly retryInMs: number | undefined;
  /** True if the request's retry time is over, or shorter than the wait that the response requests. */
  readonly isLast: boolean;
}

/** The next step of a request after an error. */
export type AfterFault =
  /** The request retries within its own deadline. `isAtFault`: the request fails repeatedly while others get responses. */
  | { readonly kind: 'back off'; readonly isAtFault: boolean }
  /**
   * The request waits for a permit again after `ms`, or when the service is up. `retryInMs`: ms until the next attempt may start.
   * `probedMs`: time of the outage that counts towards the request's retry time, because its probe got a response that it can't use.
   */
  | { readonly kind: 'wait'; readonly ms: number; readonly retryInMs: number; readonly probedMs: number };

/** One request of the source, from its first attempt to its end. */
export class Call extends Suspect {
  /** Names of the credentials that may still send the request; undefined if any may. */
  among: readonly string[] | undefined;
  /** Name of the credential of the current attempt. Empty before the first one. */
  credential = '';
  /** Monotonic ms at which the current attempt began. */
  fromMs = 0;
  /** Number of responses that the source had received when the current attempt began. */
  startedAt = 0;
  /** Number of attempts that have failed in a row. */
  failures = 0;
  /** The reason of the last error. */
  reason = '';
  /** End of the wait that the last error in an outage requested, in monotonic ms. */
  waitUntilMs: number = -Infinity;

  constructor(among: readonly string[] | undefined) {
    super();
    this.among = among;
  }
}

interface Outage {
  readonly fromMs: number;
  attempts: number;
  reason: string;
}

/** Errors of one kind since the last response: all that show a service that is down, or unusable responses with one reason. */
interface Sign {
  readonly fromMs: number;
  count: number;
  readonly calls: Set<Call>;
}

/** If this many requests get the same unusable response, and none gets a usable one, the service probably responds so to everyone. */
const ALIKE = 3;
/** A wait longer than this, in ms, is ignored if a failing service requests it. */
const LONGEST_WAIT_MS = 24 * 60 * 60_000;

/**
 * Distinguishes an outage of a service from the errors of one request or one credential, with a circuit for the service and one for each
 * credential.
 *
 * - A response that the source can use, of any status, closes the circuits of the service and of the credential.
 * - A service that responds is up. A response that can't be used is its request's own error, unless several requests get the same complete
 *   one and none gets another in between: three, or more than those that get it while others get responses.
 * - Two other errors without a usable response in between open the service's circuit. One is enough if its request would be given up for it.
 * - A request is at fault if it fails and others get responses: after one response that can't be used, or three other errors. Its errors
 *   say nothing about the service. A credential is at fault after three errors, and its circuit opens if another one can carry its requests.
 * - `upMs` pauses while the service's circuit is open, so that an outage uses up no request's retry time. Only a probe that gets a response
 *   uses up its own, and so does one that was sent and is the source's only request: otherwise, a page that hangs would never end.
 */
export class CircuitBreaker {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #waitsOutOutages: boolean;
  readonly #names: () => readonly string[];
  readonly #onChange: () => void;
  readonly #service: Circuit;
  readonly #credentials = new Map<string, Circuit>();
  readonly #calls = new Set<Call>();
  readonly #untilUp = new Set<() => void>();
  /** The part of `#untilUp` whose requests wait for a permit. */
  readonly #queued = new Set<() => void>();
  #answers = 0;
  #answeredAtMs = -Infinity;
  /** The errors that were noted since the last response. The key is the reason of unusable responses, and empty for all others. */
  readonly #signs = new Map<string, Sign>();
  /** The reasons of requests at fault that have ended since the last response. */
  #faultsOfEnded: string[] = [];
  #outage: Outage | undefined;
  /** Total ms of past outages. */
  #downMs = 0;

  /**
   * `random`: returns a random number in [0, 1). `waitsOutOutages`: if false, the service's circuit stays closed, and each request retries
   * separately. `names`: returns the names of the credentials. `onChange`: called when a circuit has changed, because requests may then be
   * able to start.
   */
  constructor(clock: Clock, random: () => number, waitsOutOutages: boolean, names: () => readonly string[], onChange: () => void) {
    this.#clock = clock;
    this.#random = random;
    this.#waitsOutOutages = waitsOutOutages;
    this.#names = names;
    this.#onChange = onChange;
    this.#service = new Circuit(clock, random);
  }

  begin(among?: readonly string[]): Call {
    const call = new Call(among);
    this.#calls.add(call);
    return call;
  }

  /** Returns the rank in which the request waits: 0, or the number of its failures in an outage, so that untried requests probe first. */
  rankOf({ failures }: Call): number {
    return this.#outage === undefined ? 0 : failures;
  }

  /** Records that the request received a permit. Call it in the synchronous step in which the permit is granted. */
  granted(call: Call, credential: string): void {
    Object.assign(call, { credential, fromMs: this.#clock.monotonicMs(), startedAt: this.#answers, waitUntilMs: -Infinity });
    this.#service.granted(call);
    this.#of(credential).granted(call);
  }

  /** Returns true if the request, which has a permit, may be sent now: no circuit is open, or the request is the probe. */
  maySend(call: Call): boolean {
    return this.#service.admits(call) && this.#of(call.credential).admits(call);
  }

  /** Records a response that shows that the service is up. Closes the circuits of the service and of the credential. */
  answered(call: Call): void {
    const circuit = this.#of(call.credential);
    const wasOpen = this.#service.isOpen || circuit.isOpen;
    this.#answers += 1;
    this.#answeredAtMs = this.#clock.monotonicMs();
    this.#faultsOfEnded = [];
    call.failures = 0;
    call.cleared(this.#answers);
    circuit.cleared(this.#answers);
    circuit.close();
    this.#isUp();
    if (wasOpen) this.#onChange();
  }

  /** Records an error of the current attempt. Returns what the request does next. */
  failed(call: Call, fault: Fault): AfterFault {
    const { kind, reason, isLast, retryInMs = 0 } = fault;
    const now = this.#clock.monotonicMs();
    const waitMs = retryInMs <= LONGEST_WAIT_MS ? retryInMs : 0;
    if (this.#isCredentials(call, now + waitMs)) {
      this.#onChange();
      return { kind: 'wait', ms: 0, retryInMs: 0, probedMs: 0 };
    }
    if (!this.#waitsOutOutages) return { kind: 'back off', isAtFault: false };
    const hasResponse = kind === 'unusable' || kind === 'unreadable';
    // Nothing tells a request that its service can't answer from an outage, if no other request is there to compare it with.
    const isLone = kind === 'down' && this.#calls.size === 1;
    call.failures += 1;
    call.reason = reason;
    if (kind !== 'unreached') call.struck(call.startedAt, this.#answers, hasResponse ? STRIKES : 1);
    const isAtFault = kind !== 'unreached' && call.isAtFault(this.#answers);
    // A response that arrived during this attempt shows that the service was up, so the error usually isn't noted.
    const isLate = call.startedAt < this.#answers;
    if (!isAtFault && (!isLate || (isLast && !hasResponse))) this.#note(call, fault);
    if (isAtFault && this.#outage !== undefined && this.#calls.values().every((one) => one.isAtFault(this.#answers))) {
      this.#isUp();
      this.#onChange();
    }
    if (this.#outage === undefined) return { kind: 'back off', isAtFault };
    this.#outage.reason = reason;
    this.#outage.attempts += 1;
    call.waitUntilMs = now + waitMs;
    const probedMs = this.#service.failed(call, -Infinity);
    this.#onChange();
    const probeAtMs = this.#service.freeAtMs;
    const untilProbeMs = probeAtMs < Infinity ? probeAtMs - now : 0;
    return { kind: 'wait', ms: waitMs, retryInMs: Math.max(waitMs, untilProbeMs), probedMs: hasResponse || isLone ? probedMs : 0 };
  }

  /** Records the end of the current attempt, even if it has no result. */
  released(call: Call): void {
    const isProbe = this.#service.released(call);
    if (this.#of(call.credential).released(call) || isProbe) this.#onChange();
  }

  /** Forgets a request that has ended. */
  ended(call: Call): void {
    this.#calls.delete(call);
    if (call.isAtFault(this.#answers)) this.#faultsOfEnded.push(call.reason);
    this.released(call);
  }

  /** Calls `end` when the service is up again. Returns a function that cancels this. `queued`: the request waits for a permit, too. */
  onceUp(end: () => void, queued?: 'queued'): () => void {
    const all = queued === undefined ? [this.#untilUp] : [this.#untilUp, this.#queued];
    for (const set of all) set.add(end);
    return () => {
      for (const set of all) set.delete(end);
    };
  }

  /** Returns the monotonic ms before which the credential sends nothing: `-Infinity` while its circuit and the service's are closed. */
  heldUntilMs(credential: string): number {
    return Math.max(this.#service.freeAtMs, this.#credentials.get(credential)?.freeAtMs ?? -Infinity);
  }

  /** Returns monotonic ms, without the time of outages. */
  upMs(): number {
    return (this.#outage?.fromMs ?? this.#clock.monotonicMs()) - this.#downMs;
  }

  /** Returns the current outage, or undefined while the service is up. `queued`: the number of requests that wait for a budget. */
  outage(queued: number): SourceOutage | undefined {
    if (this.#outage === undefined) return undefined;
    const now = this.#clock.monotonicMs();
    const offset = this.#clock.epochMs() - now;
    const { fromMs, attempts, reason } = this.#outage;
    const atMs = Math.max(this.#service.freeAtMs, Math.min(...Array.from(this.#calls, ({ waitUntilMs }) => waitUntilMs)));
    const retryAt = atMs > now && atMs < Infinity ? { retryAt: atMs + offset } : {};
    return { since: fromMs + offset, attempts, reason, ...retryAt, waiting: queued + this.#untilUp.size - this.#queued.size };
  }

  #of(credential: string): Circuit {
    const found = this.#credentials.get(credential) ?? new Circuit(this.#clock, this.#random);
    this.#credentials.set(credential, found);
    return found;
  }

  #isUp(): void {
    this.#signs.clear();
    if (this.#outage === undefined) return;
    this.#downMs += this.#clock.monotonicMs() - this.#outage.fromMs;
    this.#outage = undefined;
    this.#service.close();
    for (const end of this.#untilUp) end();
  }

  /** Records the error for the credential. Returns true if the credential is at fault and another one can send the request. */
  #isCredentials(call: Call, waitUntilMs: number): boolean {
    const circuit = this.#of(call.credential);
    circuit.struck(call.startedAt, this.#answers, 1);
    const isWell = (name: string): boolean => name !== call.credential && (call.among?.includes(name) ?? true) && !this.#of(name).isOpen;
    const isIll = circuit.isAtFault(this.#answers) && this.#names().some(isWell);
    if (isIll) {
      circuit.open();
      this.#service.released(call);
    }
    circuit.failed(call, waitUntilMs);
    return isIll;
  }

  /** Counts an error against the service, and opens the service's circuit when the errors show an outage. */
  #note(call: Call, { kind, reason, isLast }: Fault): void {
    if (kind === 'unreadable') return;
    const isUnusable = kind === 'unusable';
    const key = isUnusable ? reason : '';
    const sign = this.#signs.get(key) ?? { fromMs: Math.max(call.fromMs, this.#answeredAtMs), count: 0, calls: new Set() };
    sign.count += 1;
    sign.calls.add(call);
    this.#signs.set(key, sign);
    if (this.#outage !== undefined) return;
    if (isUnusable ? sign.calls.size < Math.max(ALIKE, 1 + this.#atFaultFor(reason)) : sign.count === 1 && !isLast) return;
    this.#outage = { fromMs: sign.fromMs, attempts: sign.count - 1, reason };
    this.#service.open();
  }

  /** Returns the number of requests that have got errors with this reason while others got responses. */
  #atFaultFor(reason: string): number {
    const unfinished = [...this.#calls].filter((call) => call.isAtFault(this.#answers));
    return [...this.#faultsOfEnded, ...unfinished.map((call) => call.reason)].filter((one) => one === reason).length;
  }
}
