import { KEPT_MINUTES, MINUTE_MS, type Minute } from '../run-history.ts';
import { groupedNumber, numberWords } from '../text/number-words.ts';
import type { TimeWords } from '../text/time-words.ts';

/** One of the counts that are stacked in each bar. */
interface Series {
  /** CSS class that sets the color. */
  readonly name: string;
  /** The word after its number in the legend: `answered`. */
  readonly words: string;
  readonly of: (minute: Minute) => number;
}

export interface ChartOptions {
  /** The counted things: `requests`. */
  readonly what: string;
  readonly series: readonly Series[];
  readonly minutes: readonly Minute[];
  /** Start of the run, epoch ms. */
  readonly startedAt: number;
  readonly now: number;
  readonly times: TimeWords;
}

const HEIGHT = 48;
const FEWEST = 15;

/** The data of a chart with one bar per minute. `page.mjs` draws it. */
export interface Chart {
  /** Distinguishes the chart from others on the page. */
  readonly key: string;
  readonly caption: string;
  /** Start of the first minute, in words. */
  readonly from: string;
  /** Number of minutes. */
  readonly width: number;
  readonly height: number;
  readonly series: readonly {
    readonly name: string;
    /** Entry of the legend: `412 answered`. */
    readonly words: string;
    readonly bars: readonly (readonly [minute: number, bottom: number, top: number])[];
  }[];
}

/** A chart of the minutes of the run, at least 15 of them, and at most those of the last 6 hours. */
export function minutesChart({ what, series, minutes, startedAt, now, times }: ChartOptions): Chart {
  const last = Math.floor(now / MINUTE_MS);
  const width = Math.min(KEPT_MINUTES, Math.max(FEWEST, last - Math.floor(startedAt / MINUTE_MS) + 1));
  const first = last - width + 1;
  const shown = minutes.filter(({ at }) => at >= first * MINUTE_MS);
  const most = Math.max(1, ...shown.map((minute) => series.reduce((all, { of }) => all + of(minute), 0)));
  const bottoms = new Map(shown.map((minute) => [minute, HEIGHT]));
  return {
    key: what,
    caption: `${what} a minute, up to ${groupedNumber(most)}`,
    from: times.when(first * MINUTE_MS, now),
    width,
    height: HEIGHT,
    series: series.flatMap(({ name, words, of }) => {
      const bars = shown.flatMap((minute) => {
        const count = of(minute);
        if (count === 0) return [];
        const bottom = bottoms.get(minute) ?? HEIGHT;
        const top = Math.round((bottom - (count / most) * HEIGHT) * 100) / 100;
        bottoms.set(minute, top);
        return [[Math.floor(minute.at / MINUTE_MS) - first, bottom, top] as const];
      });
      const total = shown.reduce((all, minute) => all + of(minute), 0);
      return total === 0 ? [] : [{ name, words: `${numberWords(total)} ${words}`, bars }];
    }),
  };
}
