import type { Clock } from '@headgate/throttle';
import { delayMs } from './deadline.ts';

/** With this many strikes, the request or credential is at fault. Fewer errors could also come from an intermittent outage. */
export const STRIKES = 3;

/**
 * Tracks the errors of one request or credential. An error while others get responses is a strike. With the third one, the request or
 * credential is at fault, until its own next response.
 */
export class Suspect {
  #strikes = 0;
  /** The strikes of the last error, which count once another request gets a response. */
  #pending = 0;
  /** The number of the source's responses at the last error. */
  #failedAt = 0;
  /** The number of the source's responses when the suspect got its last response. */
  #answeredAt = 0;

  /** `answers`: the number of the source's responses now. */
  isAtFault(answers: number): boolean {
    return this.#counted(answers) >= STRIKES;
  }

  /**
   * Records an error. `startedAt` and `answers`: the number of the source's responses when the attempt began, and now. `strikes`: how much
   * the error counts if others get responses.
   */
  struck(startedAt: number, answers: number, strikes: number): void {
    const isContradicted = answers > Math.max(startedAt, this.#answeredAt);
    // A response during the attempt may have come before an outage began.
    const now = isContradicted ? 1 : 0;
    this.#strikes = this.#counted(answers) + now;
    this.#pending = strikes - now;
    this.#failedAt = answers;
  }

  cleared(answers: number): void {
    this.#strikes = 0;
    this.#pending = 0;
    this.#answeredAt = answers;
  }

  #counted(answers: number): number {
    return this.#strikes + (answers > this.#failedAt ? this.#pending : 0);
  }
}

/**
 * A circuit to the service, or to it by one credential. **Closed**, it lets all requests through. **Open**, it lets none through until a
 * delay is over: at first a random time from 250 to 500 ms, which doubles with each failed probe, up to 30 s. **Half-open**, it waits for
 * the result of one probe.
 */
export class Circuit extends Suspect {
  readonly #clock: Clock;
  readonly #random: () => number;
  #isOpen = false;
  #probe: object | undefined;
  #probes = 0;
  #probeAtMs = 0;
  /** Monotonic ms at which the circuit opened or its last probe failed. */
  #failedAtMs = 0;

  /** `random`: returns a random number in [0, 1). */
  constructor(clock: Clock, random: () => number) {
    super();
    this.#clock = clock;
    this.#random = random;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Monotonic ms from which a request may start: `-Infinity` while closed, `Infinity` while half-open. */
  get freeAtMs(): number {
    if (!this.#isOpen) return -Infinity;
    return this.#probe === undefined ? this.#probeAtMs : Infinity;
  }

  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#probes = 0;
    this.#delay();
  }

  close(): void {
    this.#isOpen = false;
    this.#probe = undefined;
  }

  /** Returns true if a request that has a permit may be sent now. Only the probe may while the circuit is open. */
  admits(request: object): boolean {
    return !this.#isOpen || this.#probe === request;
  }

  /** Reports that a request has a permit. While the circuit is open, the first such request is the probe. */
  granted(request: object): void {
    if (this.#isOpen) this.#probe ??= request;
  }

  /**
   * Reports the end of an attempt. Returns true if the request is still the probe, because it had no result. Then another request may start
   * at once.
   */
  released(request: object): boolean {
    if (this.#probe !== request) return false;
    this.#probe = undefined;
    return true;
  }

  /**
   * Reports an error of a request. After an error of the probe, the delay doubles. While the circuit is open, no request may start before
   * `holdUntilMs`. If the request was the probe, returns the ms since the circuit opened or the probe before failed; 0 otherwise.
   */
  failed(request: object, holdUntilMs: number): number {
    if (!this.#isOpen) return 0;
    let probedMs = 0;
    if (this.released(request)) {
      this.#probes += 1;
      probedMs = this.#clock.monotonicMs() - this.#failedAtMs;
      this.#delay();
    }
    this.#probeAtMs = Math.max(this.#probeAtMs, holdUntilMs);
    return probedMs;
  }

  #delay(): void {
    this.#failedAtMs = this.#clock.monotonicMs();
    this.#probeAtMs = this.#failedAtMs + delayMs(this.#probes, this.#random);
  }
}
