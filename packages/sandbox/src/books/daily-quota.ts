import { checkNumbers } from '../option-number.ts';
import { SandboxOptionError } from '../sandbox-option-error.ts';

/** A daily limit of ISBNs for each key. */
export interface DailyQuotaOptions {
  /** ISBNs from one reset to the next: a whole number from 0. A request for a book or an author counts as one. */
  readonly isbns: number;
  /** Time of day (UTC) at which the count starts again, as `HH:MM`. Default `00:00`. */
  readonly resetsAt?: string;
}

export interface DailyQuota {
  /** Uses that many ISBNs and returns true. If fewer are left today, uses none and returns false. */
  take(isbns: number, nowMs: number): boolean;
}

/** Creates an unused quota. Throws `SandboxOptionError` for invalid values. */
export function createDailyQuota({ isbns, resetsAt = '00:00' }: DailyQuotaOptions): DailyQuota {
  const [, hours, minutes] = /^([01]\d|2[0-3]):([0-5]\d)$/u.exec(resetsAt) ?? [];
  if (hours === undefined || minutes === undefined) {
    throw new SandboxOptionError(`dailyQuota.resetsAt is "${resetsAt}"; write a time of day in UTC, such as 00:00.`);
  }
  checkNumbers({ 'dailyQuota.isbns': isbns }, { least: 0 });
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000;
  let day = Number.NaN;
  let used = 0;
  return {
    take(wanted, nowMs) {
      const today = Math.floor((nowMs - offsetMs) / 86_400_000);
      if (today !== day) {
        day = today;
        used = 0;
      }
      if (used + wanted > isbns) return false;
      used += wanted;
      return true;
    },
  };
}
