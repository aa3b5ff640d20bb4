import { textTable } from '../text-table.ts';
import { type Contestant, EMBEDDED, INSTALLED, type Shape, TWEEPY, TWEEPY_SAME, TWITTER_API } from './contestants.ts';
import { median } from '../median.ts';
import { IDS_PER_PAGE } from '../walk/page-server.ts';
import type { Run } from './measure-run.ts';

export interface Figures {
  readonly contestant: Contestant;
  /** Runs by the number of pages, one per round. */
  readonly runs: ReadonlyMap<number, readonly Run[]>;
  /** Runs with the smallest number of pages, whose traffic was counted. */
  readonly counted: readonly Run[];
  /** Time from the start to the first record, ms, one per round. Empty if it isn't measured for this contestant. */
  readonly firstRecordMs: readonly number[];
  /** 99th percentile of the times from a page's answer until its record is read, ms, one per round. Empty in the same way. */
  readonly readableMs: readonly number[];
  /** CPU ms per second while idle, one per round. Empty if it isn't measured for this contestant. */
  readonly idleCpuMs: readonly number[];
}

/** The tables, followed by the goals and whether they are reached. `sizes`: numbers of pages of the jobs, in ascending order. */
export function peersReport(all: readonly Figures[], sizes: readonly number[]): string {
  const [least = NaN, most = NaN] = [sizes[0], sizes.at(-1)];
  const thousands = (pages: number): string => pages.toLocaleString('en-US');
  const set = (head: readonly string[], rows: readonly (readonly string[])[]): string => (rows.length === 0 ? '' : textTable(head, rows));
  const costs = set(
    [
      'page as',
      'program',
      ...sizes.map((size) => `CPU ms/page, ${thousands(size)}`),
      'marginal',
      `s, ${thousands(most)}`,
      'peak MB',
      'broker ms/page',
      'requests/page',
      'kB/page',
    ],
    all.map((figures) => [
      figures.contestant.shape,
      figures.contestant.name,
      ...sizes.map((size) => spread(cpuPerPage(figures, size), 1)),
      spread(marginal(figures, least, most), 1),
      spread(each(figures, most, ({ wallMs }) => wallMs / 1_000)),
      Math.max(...sizes.flatMap((size) => each(figures, size, ({ peakBytes }) => peakBytes / 1e6))).toFixed(0),
      spread(brokerPerPage(figures, most), 1),
      spread(
        figures.counted.map(({ traffic }) => (traffic?.requests ?? NaN) / least),
        1,
      ),
      spread(
        figures.counted.map(({ traffic }) => (traffic?.sentBytes ?? NaN) / least / 1_000),
        0,
      ),
    ]),
  );
  const pairs = all.flatMap((own) =>
    own.contestant.isHeadgate
      ? all.filter(({ contestant }) => !contestant.isHeadgate && contestant.shape === own.contestant.shape).map((peer) => ({ own, peer }))
      : [],
  );
  const ratios = set(
    ['program', 'beside', ...sizes.map((size) => `CPU, ${thousands(size)}`), 'marginal', 'broker'],
    pairs.map(({ own, peer }) => [
      `${own.contestant.shape}: ${own.contestant.name}`,
      peer.contestant.name,
      ...sizes.map((size) => spread(ratio(cpuPerPage(own, size), cpuPerPage(peer, size)), 2)),
      spread(ratio(marginal(own, least, most), marginal(peer, least, most)), 2),
      spread(ratio(brokerPerPage(own, most), brokerPerPage(peer, most)), 2),
    ]),
  );
  const starts = set(
    ['page as', 'program', 'first record s', 'answer to record ms, p99', 'idle CPU ms/s'],
    all
      .filter(({ firstRecordMs, idleCpuMs }) => firstRecordMs.length + idleCpuMs.length > 0)
      .map(({ contestant, firstRecordMs, readableMs, idleCpuMs }) => [
        contestant.shape,
        contestant.name,
        spread(firstRecordMs.map((ms) => ms / 1_000)),
        spread(readableMs, 0),
        spread(idleCpuMs, 1),
      ]),
  );
  return [costs, ratios, starts, goals(all, least, most).join('\n')].filter((part) => part !== '').join('\n\n');
}

/** Median, with the minimum and the maximum in parentheses if there are several values; empty without values. */
export function spread(values: readonly number[], digits = 2): string {
  const sorted = values.filter((value) => Number.isFinite(value)).sort((a, b) => a - b);
  const [least, most] = [sorted[0], sorted.at(-1)];
  if (least === undefined || most === undefined) return '';
  const middle = median(sorted).toFixed(digits);
  return sorted.length === 1 ? middle : `${middle} (${least.toFixed(digits)}-${most.toFixed(digits)})`;
}

function each({ runs }: Figures, size: number, figure: (run: Run) => number): readonly number[] {
  return (runs.get(size) ?? []).map(figure);
}

function cpuPerPage(figures: Figures, size: number): readonly number[] {
  return each(figures, size, ({ cpuMs }) => cpuMs / size);
}

function brokerPerPage(figures: Figures, size: number): readonly number[] {
  return each(figures, size, ({ brokerCpuMs = NaN }) => brokerCpuMs / size);
}

/** CPU ms per page without the start: the difference between the longest and the shortest job of a round, per page. */
function marginal(figures: Figures, least: number, most: number): readonly number[] {
  const short = figures.runs.get(least) ?? [];
  if (least === most) return [];
  return (figures.runs.get(most) ?? []).map((long, round) => (long.cpuMs - (short[round]?.cpuMs ?? NaN)) / (most - least));
}

/** The ratio within each round, because the machine's speed can differ between rounds. */
function ratio(own: readonly number[], peer: readonly number[]): readonly number[] {
  return own.map((value, round) => value / (peer[round] ?? NaN));
}

/** Headgate's goals for costs, each with the measured median. */
function goals(all: readonly Figures[], least: number, most: number): readonly string[] {
  const of = (shape: Shape, name: string): Figures | undefined =>
    all.find(({ contestant }) => contestant.shape === shape && contestant.name === name);
  const lines: string[] = [];
  const goal = (name: string, values: readonly number[] | undefined, atMost: number, digits = 2): void => {
    const found = median((values ?? []).filter((value) => Number.isFinite(value)));
    if (Number.isNaN(found)) return;
    lines.push(`${name}: ${found.toFixed(digits)}, at most ${atMost} ${found <= atMost ? 'reached' : 'MISSED'}`);
  };
  const beside = (shape: Shape, peerName: string, size: number, figure = cpuPerPage): readonly number[] | undefined => {
    const [own, peer] = [of(shape, INSTALLED), of(shape, peerName)];
    return own === undefined || peer === undefined ? undefined : ratio(figure(own, size), figure(peer, size));
  };
  goal(`pages, ${most}: CPU beside ${TWITTER_API}`, beside('pages', TWITTER_API, most), 0.9);
  goal(`pages, ${least}: CPU beside ${TWITTER_API}`, beside('pages', TWITTER_API, least), 1.1);
  goal(`pages, ${most}: the broker's CPU beside ${TWITTER_API}`, beside('pages', TWITTER_API, most, brokerPerPage), 1.5);
  goal(`ids, ${most}: CPU beside ${TWEEPY}`, beside('ids', TWEEPY, most), 1);
  goal(`ids, ${most}: CPU beside ${TWEEPY_SAME}`, beside('ids', TWEEPY_SAME, most), 0.5);
  for (const shape of ['pages', 'ids'] as const) {
    const peaks = of(shape, INSTALLED)?.runs.get(most) ?? [];
    goal(
      `${shape}, ${most}: peak MB`,
      peaks.map(({ peakBytes }) => peakBytes / 1e6),
      110,
      0,
    );
  }
  const embedded = of('ids', EMBEDDED)?.runs.get(most) ?? [];
  const perPage = embedded.map(({ cpuMs }) => cpuMs / most);
  goal(`ids, ${most}, embedded log: CPU ms a page`, perPage, 8, 1);
  const bytes = embedded.map(({ fileBytes = NaN }) => fileBytes / (most * IDS_PER_PAGE));
  goal(`ids, ${most}, embedded log: bytes an id`, bytes, 40, 1);
  const installed = of('pages', INSTALLED);
  const firstRecordS = installed?.firstRecordMs.map((ms) => ms / 1_000);
  goal('start to first record: s', firstRecordS, 0.35);
  goal('idle: CPU ms a second', installed?.idleCpuMs, 3, 1);
  return lines;
}
