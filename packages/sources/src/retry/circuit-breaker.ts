import type { Clock } from '@headgate/throttle';
import type { SourceOutage } from '../source.ts';
import { Circuit } from './circuit.ts';
import { Suspect } from './suspect.ts';

export interface CircuitBreakerOptions {
  readonly clock: Clock;
  /** Returns a random number in [0, 1). */
  readonly random: () => number;
  /** If false, the service's circuit stays closed, and each request retries separately. */
  readonly waitsOutOutages: boolean;
  /** The names of the credentials in use. */
  readonly credentials: () => readonly string[];
  /** Called when a circuit has changed, so that requests may be able to start. */
  readonly onChange: () => void;
}

/** An error that may show an outage. A response in the service's own form isn't a fault, because it shows that the service is up. */
export interface Fault {
  /**
   * - `unreached`: no byte of the request was sent, so the request can't be at fault.
   * - `unavailable`: the request was sent, and the response was missing, incomplete, or a 502, 503 or 504.
   * - `error`: another temporary response, such as a 500 or a page of HTML, which a single request may cause.
   */
  readonly kind: 'unreached' | 'unavailable' | 'error';
  /** The error's description. */
  readonly reason: string;
  /** Minimum wait that the response requests, in ms. */
  readonly retryInMs: number | undefined;
  /** True if the request's retry time is over, so that it would be given up now. */
  readonly isLast: boolean;
}

/** The next step of a request after an error. */
export type AfterFault =
  /** The request retries within its own deadline. `isAtFault`: the request fails repeatedly while others get responses. */
  | { readonly kind: 'back off'; readonly isAtFault: boolean }
  /** The request waits for a permit again after `ms`, or when the service is up. `retryInMs`: ms until the next attempt may start. */
  | { readonly kind: 'wait'; readonly ms: number; readonly retryInMs: number }
  /** The request ends with an error. `why`: the sentence that explains it. */
  | { readonly kind: 'give up'; readonly why: string };

/** One request of the source, from its first attempt to its end. */
export interface Call {
  readonly suspect: Suspect;
  /** Names of the credentials that may send the request; undefined if any may. */
  readonly among: readonly string[] | undefined;
  /** The number of the caller's requests that this one combines, such as a batch's size. */
  readonly requests: number;
  /** Name of the credential of the current attempt. Empty before the first one. */
  credential: string;
  /** Monotonic ms at which the current attempt began. `startedAt`: the number of responses that the source had received by then. */
  fromMs: number;
  startedAt: number;
  /**
   * The last outage in which the request failed. `sent`: the number of its failed attempts in that outage. `sentFromMs`: monotonic ms at
   * which the first of these attempts, or the outage if that was later, began.
   */
  outage: Outage | undefined;
  sent: number;
  sentFromMs: number;
  /** Monotonic ms until which the response to the last attempt asked this request to wait. */
  waitUntilMs: number;
}

interface Outage {
  readonly fromMs: number;
  attempts: number;
  reason: string;
  /** Requests given up during the outage. */
  givenUp: number;
}

/**
 * A request is given up after `GIVE_UP_AFTER_MS` and `GIVE_UP_AFTER_ATTEMPTS` in one outage, because it may be the cause. This applies only
 * while at most this many requests are unfinished or were given up in the outage.
 */
const MOST_GIVEN_UP = 10;
const GIVE_UP_AFTER_MS = 24 * 60 * 60_000;
const GIVE_UP_AFTER_ATTEMPTS = 20;
/**
 * All requests obey a requested wait after `SHORT_WAITS` faults in a row that request one. A wait above `SHORT_WAIT_MS` needs `LONG_WAITS`
 * faults, because it may concern only some of the service's machines.
 */
const SHORT_WAIT_MS = 60_000;
const SHORT_WAITS = 2;
const LONG_WAITS = 7;
/** A wait longer than this, in ms, is ignored if a failing service requests it. */
const LONGEST_WAIT_MS = 24 * 60 * 60_000;
/** Each failed attempt in an outage lowers a request's share of the turns, but only this many times. */
const MOST_ROUNDS_BEHIND = 4;

/**
 * Distinguishes an outage of a service from the errors of one request or one credential, with a circuit for the service and one for each
 * credential.
 *
 * - A response in the service's own form, of any status, closes the circuits of the service and of the credential.
 * - Two errors without a response in between open the service's circuit. If a single request may cause both, such as two 500s, two
 *   different requests must get them. One error of another kind is enough if its request would be given up for it.
 * - Three errors while others get responses show that a request or a credential is at fault. The errors of such a request say nothing about
 *   the service, and it is given up after its retry time. The circuit of such a credential opens, and others carry its requests.
 * - `Retry-After` holds its own request. It holds all requests if two faults in a row (seven for more than a minute) request it, unless a
 *   response has come in that time.
 * - `upMs` pauses while the service's circuit is open, so that an outage uses up no request's retry time. If ten requests or fewer are
 *   left, one that was sent twenty times over a day of the outage is given up; at most ten per outage.
 */
export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions;
  readonly #service: Circuit;
  readonly #credentials = new Map<string, { readonly circuit: Circuit; readonly suspect: Suspect }>();
  readonly #calls = new Set<Call>();
  readonly #untilUp = new Set<() => void>();
  #answers = 0;
  #answeredAtMs = -Infinity;
  /** The first error since the last response, and the number of errors since then. */
  #faults: { readonly call: Call; readonly kind: Fault['kind']; readonly fromMs: number; count: number } | undefined;
  #outage: Outage | undefined;
  /** Total ms of past outages. */
  #downMs = 0;
  /**
   * `#waits`: the number of faults in a row that requested a wait. `#waitUntilMs`: the latest end of a requested wait. `#deniedUntilMs`:
   * its value at the last response, which showed that the wait wasn't necessary.
   */
  #waits = 0;
  #waitUntilMs = -Infinity;
  #deniedUntilMs = -Infinity;

  constructor(options: CircuitBreakerOptions) {
    this.#options = options;
    this.#service = new Circuit(options);
  }

  begin({ requests = 1, among }: { readonly requests?: number | undefined; readonly among?: readonly string[] | undefined } = {}): Call {
    const suspect = new Suspect();
    const attempt = { credential: '', fromMs: 0, startedAt: 0, waitUntilMs: -Infinity };
    const call: Call = { suspect, among, requests, ...attempt, outage: undefined, sent: 0, sentFromMs: 0 };
    this.#calls.add(call);
    return call;
  }

  /** Returns the request's share of the turns, relative to the 1 of others. In an outage, requests that haven't failed in it go first. */
  shareOf({ outage, sent }: Call): number {
    return outage === undefined || outage !== this.#outage ? 1 : 1 / (1 + Math.min(sent, MOST_ROUNDS_BEHIND));
  }

  /** Records that the request has got a permit. Call it in the synchronous step in which the permit is granted. */
  granted(call: Call, credential: string): void {
    Object.assign(call, { credential, fromMs: this.#options.clock.monotonicMs(), startedAt: this.#answers, waitUntilMs: -Infinity });
    this.#service.granted(call);
    this.#of(credential).circuit.granted(call);
  }

  /** Records a response that shows that the service is up. Closes the circuits of the service and of the credential. */
  answered(call: Call): void {
    const { circuit, suspect } = this.#of(call.credential);
    const wasOpen = this.#service.isOpen || circuit.isOpen;
    this.#answers += 1;
    this.#answeredAtMs = this.#options.clock.monotonicMs();
    this.#waits = 0;
    this.#deniedUntilMs = this.#waitUntilMs;
    call.suspect.answered(this.#answers);
    suspect.answered(this.#answers);
    circuit.close();
    this.#isUp();
    if (wasOpen) this.#options.onChange();
  }

  /** Records an error of the current attempt. Returns what the request does next. */
  failed(call: Call, fault: Fault): AfterFault {
    const { kind, reason, isLast, retryInMs = 0 } = fault;
    const { clock, waitsOutOutages, onChange } = this.#options;
    const now = clock.monotonicMs();
    const waitMs = retryInMs <= LONGEST_WAIT_MS ? retryInMs : 0;
    const waitUntilMs = now + waitMs;
    this.#waits = waitMs > 0 ? this.#waits + 1 : 0;
    this.#waitUntilMs = Math.max(this.#waitUntilMs, waitUntilMs);
    if (this.#isCredentials(call, waitUntilMs)) {
      onChange();
      return { kind: 'wait', ms: 0, retryInMs: 0 };
    }
    if (!waitsOutOutages) return { kind: 'back off', isAtFault: false };
    const isSent = kind !== 'unreached';
    if (isSent) call.suspect.failed(call.startedAt, this.#answers);
    const isAtFault = isSent && call.suspect.isAtFault;
    // A response that arrived after this attempt began shows that the service is up, so this error doesn't show an outage.
    const isLate = call.startedAt < this.#answers;
    if (!isAtFault && (!isLate || (isLast && kind !== 'error'))) this.#note(call, fault);
    if (isAtFault && this.#outage !== undefined && [...this.#calls].every(({ suspect }) => suspect.isAtFault)) {
      this.#isUp();
      onChange();
    }
    const outage = this.#outage;
    if (outage === undefined) return { kind: 'back off', isAtFault };
    outage.reason = reason;
    outage.attempts += 1;
    call.waitUntilMs = waitUntilMs;
    const isForAll = this.#waits >= (waitMs > SHORT_WAIT_MS ? LONG_WAITS : SHORT_WAITS) && now >= this.#deniedUntilMs;
    this.#service.failed(call, isForAll ? waitUntilMs : undefined);
    onChange();
    if (isSent && this.#isHopeless(call, outage)) {
      return { kind: 'give up', why: 'Headgate retried it for 24 hours without getting any response.' };
    }
    const probeAtMs = this.#service.freeAtMs;
    return { kind: 'wait', ms: waitMs, retryInMs: Math.max(waitMs, probeAtMs < Infinity ? probeAtMs - now : 0) };
  }

  /** Records the end of the current attempt, even if it has no result. */
  released(call: Call): void {
    const { circuit } = this.#of(call.credential);
    const isProbe = this.#service.released(call);
    if (circuit.released(call) || isProbe) this.#options.onChange();
  }

  /** Forgets a request that has ended. */
  ended(call: Call): void {
    this.#calls.delete(call);
    this.released(call);
  }

  /** Calls `end` when the service is up again. Returns a function that cancels this. */
  onceUp(end: () => void): () => void {
    this.#untilUp.add(end);
    return () => this.#untilUp.delete(end);
  }

  /** Returns the monotonic ms before which the credential sends nothing: `-Infinity` while its circuit and the service's are closed. */
  heldUntilMs(credential: string): number {
    return Math.max(this.#service.freeAtMs, this.#credentials.get(credential)?.circuit.freeAtMs ?? -Infinity);
  }

  /** Returns monotonic ms, without the time in which the service was down. */
  upMs(): number {
    return (this.#outage?.fromMs ?? this.#options.clock.monotonicMs()) - this.#downMs;
  }

  /** Returns the current outage, or undefined while the service is up. `queued`: the number of requests that wait for a budget. */
  outage(queued: number): SourceOutage | undefined {
    if (this.#outage === undefined) return undefined;
    const { clock } = this.#options;
    const now = clock.monotonicMs();
    const offset = clock.epochMs() - now;
    const { fromMs, attempts, reason } = this.#outage;
    const atMs = Math.max(this.#service.freeAtMs, Math.min(...Array.from(this.#calls, ({ waitUntilMs }) => waitUntilMs)));
    const retryAt = atMs > now && atMs < Infinity ? { retryAt: atMs + offset } : {};
    return { since: fromMs + offset, attempts, reason, ...retryAt, waiting: queued + this.#untilUp.size };
  }

  #of(credential: string): { readonly circuit: Circuit; readonly suspect: Suspect } {
    const found = this.#credentials.get(credential) ?? { circuit: new Circuit(this.#options), suspect: new Suspect() };
    this.#credentials.set(credential, found);
    return found;
  }

  #isUp(): void {
    this.#faults = undefined;
    if (this.#outage === undefined) return;
    this.#downMs += this.#options.clock.monotonicMs() - this.#outage.fromMs;
    this.#outage = undefined;
    this.#service.close();
    for (const end of this.#untilUp) end();
  }

  /** True if the credential is at fault: others get responses, and another credential that may send the request has a closed circuit. */
  #isCredentials(call: Call, waitUntilMs: number): boolean {
    const { circuit, suspect } = this.#of(call.credential);
    suspect.failed(call.startedAt, this.#answers);
    const isWell = (name: string): boolean =>
      name !== call.credential && (call.among?.includes(name) ?? true) && !this.#of(name).circuit.isOpen;
    const isIll = suspect.isAtFault && this.#options.credentials().some(isWell);
    if (isIll) {
      circuit.open();
      this.#service.released(call);
    }
    circuit.failed(call, waitUntilMs);
    return isIll;
  }

  /** Counts an error against the service, and opens the service's circuit once the errors show an outage. */
  #note(call: Call, { kind, reason, isLast }: Fault): void {
    const before = this.#faults;
    const isOfOne = kind === 'error' && (before === undefined || (before.call === call && before.kind === 'error'));
    const faults = before ?? { call, kind, fromMs: Math.max(call.fromMs, this.#answeredAtMs), count: 0 };
    faults.count += 1;
    this.#faults = faults;
    if (this.#outage !== undefined || isOfOne || (before === undefined && !isLast)) return;
    this.#outage = { fromMs: faults.fromMs, attempts: faults.count - 1, reason, givenUp: 0 };
    this.#service.open();
  }

  /** Counts an attempt that was sent during an outage. Returns true if the request must be given up now. */
  #isHopeless(call: Call, outage: Outage): boolean {
    if (call.outage !== outage) Object.assign(call, { outage, sent: 0, sentFromMs: Math.max(call.fromMs, outage.fromMs) });
    call.sent += 1;
    const triedMs = this.#options.clock.monotonicMs() - call.sentFromMs;
    if (call.sent < GIVE_UP_AFTER_ATTEMPTS || triedMs < GIVE_UP_AFTER_MS) return false;
    let underWay = 0;
    for (const { requests } of this.#calls) underWay += requests;
    if (outage.givenUp + underWay > MOST_GIVEN_UP) return false;
    outage.givenUp += call.requests;
    return true;
  }
}
