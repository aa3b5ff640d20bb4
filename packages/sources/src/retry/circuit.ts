import type { Clock } from '@headgate/throttle';
import { delayMs } from './deadline.ts';

export interface CircuitOptions {
  readonly clock: Clock;
  /** Returns a random number in [0, 1). */
  readonly random: () => number;
}

/**
 * A circuit to a service or credential that may fail. **Closed**, it lets all requests through. **Open**, it lets none through until a
 * delay is over: at first a random time from 250 to 500 ms, which doubles with each failed probe, up to 30 s. **Half-open**, it waits for
 * the result of one probe.
 */
export class Circuit {
  readonly #options: CircuitOptions;
  #isOpen = false;
  #probe: object | undefined;
  #probes = 0;
  #probeAtMs = 0;
  /** Monotonic ms at which the circuit opened or its last probe failed. */
  #failedAtMs = 0;

  constructor(options: CircuitOptions) {
    this.#options = options;
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
  failed(request: object, holdUntilMs: number = -Infinity): number {
    if (!this.#isOpen) return 0;
    let probedMs = 0;
    if (this.#probe === request) {
      this.#probe = undefined;
      this.#probes += 1;
      probedMs = this.#options.clock.monotonicMs() - this.#failedAtMs;
      this.#delay();
    }
    this.#probeAtMs = Math.max(this.#probeAtMs, holdUntilMs);
    return probedMs;
  }

  #delay(): void {
    const { clock, random } = this.#options;
    this.#failedAtMs = clock.monotonicMs();
    this.#probeAtMs = this.#failedAtMs + delayMs(this.#probes, random);
  }
}
