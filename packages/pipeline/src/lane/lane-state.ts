import type { StateReading } from '@headgate/topics';

/** A value of a lane's state. */
export interface LaneValue {
  /** The key without the prefix that was passed to `under`. */
  readonly key: string;
  readonly value: unknown;
  /** Age of the value when the state was read, in ms on the log's clock. 0 for a value written since. */
  readonly ageMs: number;
}

/** The part of a lane's state that belongs to one group. Groups that share a cluster's topics have different prefixes. */
export interface LaneState {
  readonly prefix: string;
  under(this: void, prefix: string): readonly LaneValue[];
  /** Returns the value of a key. Undefined if there is none. */
  get(this: void, key: string): unknown;
}

export function laneState(group: string, reading: StateReading): LaneState {
  const prefix = `${group}/`;
  return {
    prefix,
    under: (under) =>
      [...reading]
        .filter(([key]) => key.startsWith(prefix + under))
        .map(([key, value]) => ({
          key: key.slice(prefix.length + under.length),
          value: JSON.parse(value) as unknown,
          ageMs: reading.ageMs(key),
        })),
    get(key) {
      const value = reading.get(prefix + key);
      return value === undefined ? undefined : (JSON.parse(value) as unknown);
    },
  };
}

/** The keys of a lane's state, without the group's prefix. */
export const STATE_KEYS = {
  /** Finished offsets of the requests topic. */
  finished: 'lane',
  /** Name of the requests topic. */
  requests: 'requests',
  /** ID of the requests topic. */
  requestsId: 'requests-id',
  /** `budget/<credential>`: the state of the credential's budgets. */
  budget: 'budget/',
  /** `job/<offset>`: where the job at that offset continues. Removed by the transaction that finishes the job. */
  job: 'job/',
  /** `last/<kind><key>`: the last complete crawl of a key. */
  last: 'last/',
  /** `failed/<kind><key>`: where the failed crawl of a key continues. Only for crawls that carry a value. */
  failed: 'failed/',
  /** `held/<kind><key>#<id>`: a part of a page that a crawl of the key couldn't write, and that the next one expects again. */
  held: 'held/',
} as const;
