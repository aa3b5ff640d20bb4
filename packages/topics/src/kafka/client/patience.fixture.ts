import type { Availability } from '../../availability.ts';
import { failureText } from './driver-errors.ts';
import { type Patience, patience } from './patience.ts';

/** The patience of a log that throws if a right is missing, instead of waiting for it. */
export function patienceOf(availability: Availability): Patience {
  return patience({ watcher: availability.watcher(), failureText, waitsForRights: false });
}
