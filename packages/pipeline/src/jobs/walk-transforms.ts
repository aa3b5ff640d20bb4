import type { Json, Transform } from '@headgate/throttle';
import { guarded, json, list, synchronous } from '../topics/user-function.ts';
import { copyOf } from './walk-state.ts';

/** The transforms between a walk's pages and its records. */
export interface WalkTransforms<Page, Value> {
  values(page: Page): Value[];
  /** Returns the states of the transforms, by name. Undefined if none has a state. */
  state(): Readonly<Record<string, Json>> | undefined;
}

/** Opens transforms with their states from the checkpoint. */
export function openTransforms<Page, Value>(
  through: readonly Transform<Page, unknown>[],
  states: Readonly<Record<string, Json>> | undefined,
  pipeline: string,
): WalkTransforms<Page, Value> {
  const opened = through.map((transform) => {
    const of = { pipeline, name: `transform ${transform.name}` };
    const open = guarded(transform, of, { open: synchronous }).open(copyOf(states?.[transform.name]));
    return { name: transform.name, transform: guarded(open, of, { next: list, state: json }) };
  });
  return {
    values(page) {
      let values: unknown[] = [page];
      for (const { transform } of opened) values = values.flatMap((value) => [...transform.next(value as Page)]);
      return values as Value[];
    },
    state() {
      const entries = opened.flatMap(({ name, transform }) => {
        const state = copyOf(transform.state?.());
        return state === undefined ? [] : [[name, state] as const];
      });
      return entries.length === 0 ? undefined : Object.fromEntries(entries);
    },
  };
}
