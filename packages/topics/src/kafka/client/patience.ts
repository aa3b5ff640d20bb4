import type { AvailabilityWatcher } from '../../availability.ts';
import { MissingRightError, rightsWords } from '../../missing-right-error.ts';
import { chain, verdictOf } from './driver-errors.ts';
import { isFenced, isTopicUnknown } from './error-kinds.ts';

/** Decides for one client of the brokers whether to wait out an error, and reports that it waits. */
export interface Patience {
  waitsOut(error: unknown): boolean;
  /** Reports that the client waits because of `error`. `sinceMs`: when responses stopped, epoch ms; default now. */
  unavailable(error: unknown, sinceMs?: number): void;
  /** Reports that the work has succeeded, or has failed for a reason that isn't waited out. */
  available(): void;
  /** Reports that the work is given up. A reported outage stays reported until another client reaches the brokers. */
  abandoned(): void;
}

export interface PatienceOptions {
  readonly watcher: AvailabilityWatcher;
  readonly failureText: (error: unknown) => string;
  readonly waitsForRights: boolean;
}

/**
 * An unknown topic is reported as an outage only after this time. If the topic is really missing, the work has usually failed by then with an error
 * that says so.
 */
const CERTAIN_WITHIN_MS = 6_000;

export function patience({ watcher, failureText, waitsForRights }: PatienceOptions): Patience {
  let unknownSinceMs: number | undefined;
  return {
    waitsOut(error) {
      const verdict = verdictOf(error);
      return verdict === 'passes' || (verdict === 'right' && waitsForRights);
    },
    unavailable(error, sinceMs) {
      // Brokers that refuse an older producer respond, so they aren't unavailable.
      if (isFenced(error)) return;
      if (isTopicUnknown(error)) {
        unknownSinceMs ??= Date.now();
        if (Date.now() - unknownSinceMs < CERTAIN_WITHIN_MS) return;
      }
      for (const each of chain(error)) {
        if (each instanceof MissingRightError)
          return watcher.unavailable(`this user lacks ${rightsWords(each.rights).join('; ')}`, sinceMs, 'refused');
      }
      watcher.unavailable(failureText(error), sinceMs);
    },
    available() {
      unknownSinceMs = undefined;
      watcher.available();
    },
    abandoned() {
      unknownSinceMs = undefined;
      watcher.abandoned();
    },
  };
}
