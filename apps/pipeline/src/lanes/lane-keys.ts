import type { StateReading } from '@headgate/topics';

export interface LaneKeysOptions {
  readonly group: string;
  readonly service: 'followers' | 'books';
  readonly lane: number;
}

/** A value of a lane's state. */
export interface LaneValue {
  /** Without the lane's own prefix, and without the one it was asked for under. */
  readonly key: string;
  readonly value: unknown;
  /** How long before the lane was opened it was committed, ms on the log's clock. */
  readonly ageMs: number;
}

/** Where a lane's keys stand in the state topic. */
export interface LaneKeys {
  readonly prefix: string;
  under(state: StateReading, prefix: string): readonly LaneValue[];
  /** Undefined where there is none. */
  get(state: StateReading, key: string): unknown;
}

export function laneKeys({ group, service, lane }: LaneKeysOptions): LaneKeys {
  const prefix = `${group}/${service}/${lane}/`;
  return {
    prefix,
    under: (state, under) =>
      [...state]
        .filter(([key]) => key.startsWith(prefix + under))
        .map(([key, value]) => ({
          key: key.slice(prefix.length + under.length),
          value: JSON.parse(value) as unknown,
          ageMs: state.ageMs(key),
        })),
    get(state, key) {
      const value = state.get(prefix + key);
      return value === undefined ? undefined : (JSON.parse(value) as unknown);
    },
  };
}
