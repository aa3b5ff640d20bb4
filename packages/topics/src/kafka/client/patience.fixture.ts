import type { Availability } from '../../availability.ts';
import { failureText } from './driver-errors.ts';
import { type Patience, patience } from './patience.ts';

/** As a log has it that throws where a right is missing. */
export function patienceOf(availability: Availability): Patience {
  return patience({ watcher: availability.watcher(), failureText, waitsForRights: false });
}
