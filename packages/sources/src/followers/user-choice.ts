/**
 * Checks and labels for users, without an HTTP client: for programs that send no requests.
 *
 * @packageDocumentation
 */
import { fitsUint64 } from './page.ts';

/** The user whose followers are requested, by exactly one of ID and screen name. */
export type UserChoice =
  | { readonly userId: string; readonly screenName?: undefined }
  | { readonly screenName: string; readonly userId?: undefined };

/** True for a user ID: digits from 1 to 18446744073709551615, without leading zeros, so that an ID has one spelling. */
export function isUserId(text: string): boolean {
  return /^[1-9]\d*$/.test(text) && fitsUint64(text);
}

/** True for a screen name, without `@`: 1 to 50 letters, digits and `_`. */
export function isScreenName(text: string): boolean {
  // Wider than the service's current limits: the check only keeps other text out of keys and addresses.
  return /^\w{1,50}$/.test(text);
}

/**
 * The name of a user in displays and keys: `@alpha`, or the digits of an ID. Screen names aren't case-sensitive, so `Alpha` is `@alpha`,
 * too.
 */
export function userLabel({ userId, screenName }: UserChoice): string {
  return screenName === undefined ? userId : `@${screenName.toLowerCase()}`;
}
