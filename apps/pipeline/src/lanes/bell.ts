import type { Clock } from '@headgate/throttle';

/** Wakes the one who waits for something to happen in a lane; what was rung while nobody waited is not lost. */
export interface Bell {
  ring(): void;
  /** Every wait, this and later ones, rejects with `error`: the lane can't go on. */
  fail(error: unknown): void;
  /** Resolves at the next ring, or after `atMostMs`. One waits at a time. */
  wait(atMostMs?: number): Promise<void>;
}

export function bell({ clock }: { readonly clock: Clock }): Bell {
  let rung = false;
  let failure: { readonly error: unknown } | undefined;
  let wake: (() => void) | undefined;

  return {
    ring() {
      rung = true;
      wake?.();
    },
    fail(error) {
      failure ??= { error };
      wake?.();
    },
    async wait(atMostMs = Infinity) {
      if (!rung && failure === undefined) {
        await new Promise<void>((resolve) => {
          const cancel = atMostMs < Infinity ? clock.schedule(atMostMs, resolve) : undefined;
          wake = () => {
            cancel?.();
            resolve();
          };
        });
        wake = undefined;
      }
      rung = false;
      if (failure !== undefined) throw failure.error;
    },
  };
}
