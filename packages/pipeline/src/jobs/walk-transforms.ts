import type { Json, Transform } from '@headgate/throttle';
import { callUser, callUserList } from '../topics/user-function.ts';
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
  walk: { readonly pipeline: string; readonly key: string },
): WalkTransforms<Page, Value> {
  const opened = through.map((transform) => {
    const of = { ...walk, name: `transform ${transform.name}` };
    return { name: transform.name, of, transform: callUser(of, () => transform.open(copyOf(states?.[transform.name]))) };
  });
  return {
    values(page) {
      let values: unknown[] = [page];
      for (const { of, transform } of opened) {
        values = values.flatMap((value) => callUserList(of, () => transform.next(value as Page)));
      }
      return values as Value[];
    },
    state() {
      const entries = opened.flatMap(({ name, of, transform }) => {
        const state = callUser(of, () => copyOf(transform.state?.()));
        return state === undefined ? [] : [[name, state] as const];
      });
      return entries.length === 0 ? undefined : Object.fromEntries(entries);
    },
  };
}
