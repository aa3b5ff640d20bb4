/**
 * Only the form of a user, for programs that load no HTTP client.
 *
 * @packageDocumentation
 */
import { fitsUint64 } from './page.ts';

/** Whose followers: one of the two, never both. */
export type UserChoice =
  | { readonly userId: string; readonly screenName?: undefined }
  | { readonly screenName: string; readonly userId?: undefined };

/** True when a text is a user ID: digits from 1 to 18446744073709551615, without a zero in front, so that an ID has one spelling. */
export function isUserId(text: string): boolean {
  return /^[1-9]\d*$/.test(text) && fitsUint64(text);
}

/** True when a text is a screen name, without `@`: 1 to 50 letters, digits and `_`. */
export function isScreenName(text: string): boolean {
  // More than the service allows today. Its purpose is to keep anything else out of keys and addresses.
  return /^\w{1,50}$/.test(text);
}

/** How a user is shown and keyed: `@alpha`, or the digits of an ID. Screen names don't differ by case, so `Alpha` is `@alpha`, too. */
export function userLabel({ userId, screenName }: UserChoice): string {
  return screenName === undefined ? userId : `@${screenName.toLowerCase()}`;
}
