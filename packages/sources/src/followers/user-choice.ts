/** Whose followers: one of the two, never both. */
export type UserChoice =
  | { readonly userId: string; readonly screenName?: undefined }
  | { readonly screenName: string; readonly userId?: undefined };

/** How a user is shown and keyed: `@alpha`, or the digits of an id. */
export function userLabel({ userId, screenName }: UserChoice): string {
  return screenName === undefined ? userId : `@${screenName}`;
}
