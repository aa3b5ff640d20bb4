import { KEPT_MINUTES, MINUTE_MS, type Minute } from '../run-history.ts';
import { groupedNumber, numberWords } from '../text/number-words.ts';
import type { TimeWords } from '../text/time-words.ts';
import { Html, markup } from './markup.ts';

/** Minutes in a row that are stacked on each other, one series a colour. */
interface Series {
  /** The CSS class that gives it its colour. */
  readonly name: string;
  /** The word after its number: `answered`. */
  readonly words: string;
  readonly of: (minute: Minute) => number;
}

export interface ChartOptions {
  /** `requests`. */
  readonly what: string;
  readonly series: readonly Series[];
  readonly minutes: readonly Minute[];
  /** Epoch ms. */
  readonly startedAt: number;
  readonly now: number;
  readonly times: TimeWords;
}

const HEIGHT = 48;
const FEWEST = 15;

/** A bar for each minute of the run, for its last 6 hours: a figure whose caption describes it. */
export function minutesChart({ what, series, minutes, startedAt, now, times }: ChartOptions): Html {
  const last = Math.floor(now / MINUTE_MS);
  const width = Math.min(KEPT_MINUTES, Math.max(FEWEST, last - Math.floor(startedAt / MINUTE_MS) + 1));
  const first = last - width + 1;
  const shown = minutes.filter(({ at }) => at >= first * MINUTE_MS);
  const sum = (minute: Minute): number => series.reduce((all, { of }) => all + of(minute), 0);
  const most = Math.max(1, ...shown.map(sum));
  const bottoms = new Map(shown.map((minute) => [minute, HEIGHT]));
  const paths = series.map(({ name, of }) => {
    const bars = shown.flatMap((minute) => {
      const count = of(minute);
      if (count === 0) return [];
      const bottom = bottoms.get(minute) ?? HEIGHT;
      const top = Math.round((bottom - (count / most) * HEIGHT) * 100) / 100;
      bottoms.set(minute, top);
      return [`M${Math.floor(minute.at / MINUTE_MS) - first} ${bottom}V${top}h.8V${bottom}z`];
    });
    return markup`<path class="${name}" d="${new Html(bars.join(''))}"/>`;
  });
  const totals = series.flatMap(({ name, words, of }) => {
    const total = shown.reduce((all, minute) => all + of(minute), 0);
    return total === 0 ? [] : [markup`<li class="${name}">${numberWords(total)} ${words}</li>`];
  });
  const caption = `${what} a minute, up to ${groupedNumber(most)}`;
  const from = times.when(first * MINUTE_MS, now);
  const label = markup`viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${caption}, since ${from}"`;
  return markup`<figcaption>${caption}</figcaption><svg ${label}>${paths}</svg>
<p class="axis"><span>${from}</span><span>now</span></p><ul class="legend">${totals}</ul>`;
}
