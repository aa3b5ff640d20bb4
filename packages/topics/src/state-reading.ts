import type { StateReading } from './topic-log.ts';

/** A value of a state partition, and its age at the time of the read. */
export interface AgedValue {
  readonly value: string;
  readonly ageMs: number;
}

/** A `StateReading` to which the writer of a lane can apply its own changes. */
export class LiveState extends Map<string, string> implements StateReading {
  /** Ages of the values that were read; values written since have no entry. */
  readonly #ages: Map<string, number>;

  constructor(entries: Iterable<readonly [key: string, entry: AgedValue]> = []) {
    super();
    const ages = new Map<string, number>();
    for (const [key, { value, ageMs }] of entries) {
      this.set(key, value);
      ages.set(key, Math.max(0, ageMs));
    }
    this.#ages = ages;
  }

  ageMs(key: string): number {
    return this.#ages.get(key) ?? 0;
  }

  apply(changes: readonly (readonly [key: string, value: string | null])[]): void {
    for (const [key, value] of changes) {
      this.#ages.delete(key);
      if (value === null) this.delete(key);
      else this.set(key, value);
    }
  }
}
