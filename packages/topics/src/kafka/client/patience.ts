import type { AvailabilityWatcher } from '../../availability.ts';
import { MissingRightError, rightsWords } from '../../missing-right-error.ts';
import { chain, verdictOf } from './driver-errors.ts';
import { isFenced, isTopicUnknown } from './error-kinds.ts';

/** Decides for one client of the brokers whether to wait out an error, and reports that it waits. */
export interface Patience {
  waitsOut(error: unknown): boolean;
  /** `sinceMs`: when responses stopped, epoch ms; default now. */
  unavailable(error: unknown, sinceMs?: number): void;
  /** It works again, or fails for another reason. */
  available(): void;
  /** The work is given up. If brokers were unreachable, that remains reported until another client reaches them. */
  abandoned(): void;
}

export interface PatienceOptions {
  readonly watcher: AvailabilityWatcher;
  /** The text of an error. */
  readonly failureText: (error: unknown) => string;
  /** Whether a missing right is waited for like an unreachable broker. */
  readonly waitsForRights: boolean;
}

/** After this time a topic that the brokers don't know is certainly missing, and the error says so: the brokers themselves respond. */
const CERTAIN_WITHIN_MS = 6_000;

export function patience({ watcher, failureText, waitsForRights }: PatienceOptions): Patience {
  let unknownSinceMs: number | undefined;
  return {
    waitsOut(error) {
      const verdict = verdictOf(error);
      return verdict === 'passes' || (verdict === 'right' && waitsForRights);
    },
    unavailable(error, sinceMs) {
      // The brokers respond.
      if (isFenced(error)) return;
      if (isTopicUnknown(error)) {
        unknownSinceMs ??= Date.now();
        if (Date.now() - unknownSinceMs < CERTAIN_WITHIN_MS) return;
      }
      for (const each of chain(error)) {
        if (each instanceof MissingRightError)
          return watcher.unavailable(`this user lacks ${rightsWords(each.rights).join('; ')}`, sinceMs, true);
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
