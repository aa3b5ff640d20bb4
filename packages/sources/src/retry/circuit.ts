import type { Clock } from '@headgate/throttle';
import { delayMs } from './backoff.ts';

export interface CircuitOptions {
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
}

/**
 * A circuit to a service or credential that may fail. **Closed**, it lets all requests through. **Open**, it lets none through until a
 * delay is over: half to all of 500 ms at first, doubling to 30 s. **Half-open**, it waits for the result of one probe.
 */
export class Circuit {
  readonly #options: CircuitOptions;
  #isOpen = false;
  #probe: object | undefined;
  #probes = 0;
  #probeAtMs = 0;

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

  /** A request has its permit. While the circuit is open, it is the probe. */
  granted(request: object): void {
    if (this.#isOpen) this.#probe ??= request;
  }

  /** A request had no result. Returns true if it was the probe, so that another may start at once. */
  released(request: object): boolean {
    if (this.#probe !== request) return false;
    this.#probe = undefined;
    return true;
  }

  /** A request got an error: after a probe's, the delay doubles. `holdUntilMs`: the circuit stays open at least until then. */
  failed(request: object, holdUntilMs: number = -Infinity): void {
    if (!this.#isOpen) return;
    if (this.#probe === request) {
      this.#probe = undefined;
      this.#probes += 1;
      this.#delay();
    }
    this.#probeAtMs = Math.max(this.#probeAtMs, holdUntilMs);
  }

  #delay(): void {
    const { clock, random } = this.#options;
    this.#probeAtMs = clock.monotonicMs() + delayMs(this.#probes) * (0.5 + random() / 2);
  }
}
