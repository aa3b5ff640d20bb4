import { expect, test } from 'vitest';
import { type Contestant, INSTALLED, TWITTER_API } from './contestants.ts';
import type { Run } from './measure-run.ts';
import { type Figures, peersReport, spread } from './peers-report.ts';

function figures(contestant: Partial<Contestant>, cpuMs: Readonly<Record<number, readonly number[]>>): Figures {
  const run = (ms: number): Run => ({ cpuMs: ms, wallMs: 1_000, peakBytes: 100e6, digest: '' });
  const runs = new Map(Object.entries(cpuMs).map(([size, all]) => [Number(size), all.map(run)]));
  const all = { shape: 'pages', topic: '', log: 'kafka', records: 'same', command: () => ({ argv: [''], folder: '' }), ...contestant };
  return { contestant: all as Contestant, runs, counted: [], firstRecordMs: [], readableMs: [], idleCpuMs: [] };
}

test('gives medians of ratios of the same round, and a page without the start', () => {
  const own = figures({ name: INSTALLED, isHeadgate: true }, { 10: [200, 400, 300], 30: [400, 1_200, 600] });
  const peer = figures({ name: TWITTER_API, isHeadgate: false }, { 10: [100, 400, 100], 30: [200, 800, 200] });
  const report = peersReport([own, peer], [10, 30]).replaceAll(/ +/gu, ' ');
  expect(report).toContain(`| pages | ${INSTALLED} | 30.0 (20.0-40.0) | 20.0 (13.3-40.0) | 15.0 (10.0-40.0) | 1.00 (1.00-1.00) | 100 |`);
  expect(report).toContain(`| pages: ${INSTALLED} | ${TWITTER_API} | 2.00 (1.00-3.00) | 2.00 (1.50-3.00) | 2.00 (2.00-3.00) |`);
  expect(report).toContain(`pages, 30: CPU beside ${TWITTER_API}: 2.00, at most 0.9 MISSED`);
  expect(report).toContain('pages, 30: peak MB: 100, at most 110 reached');
});

test('shows a single figure as it is, and none as nothing', () => {
  expect([spread([1.234]), spread([]), spread([Number.NaN])]).toEqual(['1.23', '', '']);
  expect(spread([4, 1, 2, 3])).toBe('2.50 (1.00-4.00)');
});
