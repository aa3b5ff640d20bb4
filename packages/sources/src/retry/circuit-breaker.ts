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
  readonly credentials: () => readonly string[];
  /** Called when a circuit has changed, because requests may then be able to start. */
  readonly onChange: () => void;
}

/** An error that may show an outage. A response in the service's own form isn't a fault, because it shows that the service is up. */
export interface Fault {
  /**
   * - `unreached`: no byte of the request was sent, so the request can't be at fault.
   * - `unavailable`: the request was sent, and the response was missing, incomplete, or had a status such as 503.
   * - `error`: another temporary response, such as a 500 or a page of HTML, which a single request may cause.
   */
  readonly kind: 'unreached' | 'unavailable' | 'error';
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
  /** The request waits for a permit again after `ms`, or when the service is up. `retryInMs`: ms until the next attempt may start. */
  | { readonly kind: 'wait'; readonly ms: number; readonly retryInMs: number }
  /** The request ends with an error. `why`: the sentence that explains it. */
  | { readonly kind: 'give up'; readonly why: string };

/** One request of the source, from its first attempt to its end. */
export interface Call {
  readonly suspect: Suspect;
  /** Names of the credentials that may still send the request; undefined if any may. */
  among: readonly string[] | undefined;
  /** The number of the caller's requests that this one combines, such as a batch's size. */
  readonly requests: number;
  /** Name of the credential of the current attempt. Empty before the first one. */
  credential: string;
  /** Monotonic ms at which the current attempt began. */
  fromMs: number;
  /** Number of responses that the source had received when the current attempt began. */
  startedAt: number;
  /** The last outage in which an attempt of the request was sent and failed. */
  outage: Outage | undefined;
  /** Number of attempts that were sent and failed in `outage`. */
  sent: number;
  /** Monotonic ms at which the first attempt of `sent` began, or the outage if that was later. */
  sentFromMs: number;
  /** End of the wait that the last error in an outage requested, in monotonic ms. */
  waitUntilMs: number;
}

interface Outage {
  readonly fromMs: number;
  attempts: number;
  reason: string;
  givenUp: number;
}

/** An outage ends a request only while at most this many requests are unfinished or were given up in the outage. */
const MOST_GIVEN_UP = 10;
/**
 * Minimum time, in ms, for which a request is sent and fails in one outage before the request is given up. The request may be the cause.
 */
const GIVE_UP_AFTER_MS = 24 * 60 * 60_000;
/** Minimum number of attempts that are sent and fail in one outage before their request is given up. */
const GIVE_UP_AFTER_ATTEMPTS = 20;
/** A requested wait of up to this many ms is short. */
const SHORT_WAIT_MS = 60_000;
/** All requests obey a short wait after this many faults in a row that request a wait. */
const SHORT_WAITS = 2;
/** A longer wait needs this many faults, because it may concern only some of the service's machines. */
const LONG_WAITS = 7;
/** A wait longer than this, in ms, is ignored if a failing service requests it. */
const LONGEST_WAIT_MS = 24 * 60 * 60_000;
/** Each attempt that was sent and failed in an outage lowers its request's share of the turns, but only this many times. */
const MOST_ROUNDS_BEHIND = 4;

/**
 * Distinguishes an outage of a service from the errors of one request or one credential, with a circuit for the service and one for each
 * credential.
 *
 * - A response in the service's own form, of any status, closes the circuits of the service and of the credential.
 * - Two errors without a response in between open the service's circuit. If a single request may cause both, such as two 500s, two
 *   different requests must get them. One error of another kind is enough if its request would be given up for it.
 * - Three errors while others get responses show that a request or a credential is at fault. The errors of such a request say nothing about
 *   the service, and it is given up after its retry time. The circuit of such a credential opens if another one can carry its requests.
 * - In an outage, a requested wait (`Retry-After`) holds its own request, and all requests if several faults in a row request a wait.
 * - `upMs` pauses while the service's circuit is open, so that an outage uses up no request's retry time. A request that was sent twenty
 *   times over a day of one outage can be given up, but at most ten requests per outage.
 */
export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions;
  readonly #service: Circuit;
  readonly #credentials = new Map<string, { readonly circuit: Circuit; readonly suspect: Suspect }>();
  readonly #calls = new Set<Call>();
  readonly #untilUp = new Set<() => void>();
  #answers = 0;
  #answeredAtMs = -Infinity;
  /** The first error that was noted since the last response, and the number of errors noted since then. */
  #faults: { readonly call: Call; readonly kind: Fault['kind']; readonly fromMs: number; count: number } | undefined;
  #outage: Outage | undefined;
  /** Total ms of past outages. */
  #downMs = 0;
  /** Number of faults in a row that requested a wait. */
  #waits = 0;
  /** Monotonic ms at which the latest requested wait ends. */
  #waitUntilMs = -Infinity;
  /** The value of `#waitUntilMs` at the last response, which showed that the wait wasn't necessary. */
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

  /** Returns the request's share of the turns: 1, or less in an outage in which the request was sent and failed. */
  shareOf({ outage, sent }: Call): number {
    return outage === undefined || outage !== this.#outage ? 1 : 1 / (1 + Math.min(sent, MOST_ROUNDS_BEHIND));
  }

  /** Records that the request received a permit. Call it in the synchronous step in which the permit is granted. */
  granted(call: Call, credential: string): void {
    Object.assign(call, { credential, fromMs: this.#options.clock.monotonicMs(), startedAt: this.#answers, waitUntilMs: -Infinity });
    this.#service.granted(call);
    this.#of(credential).circuit.granted(call);
  }

  /** Returns true if the request, which has a permit, may be sent now: no circuit is open, or the request is the probe. */
  maySend(call: Call): boolean {
    return this.#service.admits(call) && this.#of(call.credential).circuit.admits(call);
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
    // A response that arrived during this attempt shows that the service was up, so the error usually isn't noted.
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

  /** Returns monotonic ms, without the time of outages. */
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

  /** Records the error for the credential. Returns true if the credential is at fault and another one can send the request. */
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

  /** Counts an error against the service, and opens the service's circuit when the errors show an outage. */
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

  /** Counts an attempt that was sent and failed in an outage. Returns true if the request must be given up now. */
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
