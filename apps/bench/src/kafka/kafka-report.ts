import { textTable } from '../text-table.ts';
import { HEADGATE, PLAIN } from './clients.ts';
import type { Codec, Shape } from './job.ts';
import type { ClientResult } from './measure-case.ts';

export interface KafkaCase {
  readonly shape: Shape;
  readonly codec: Codec;
  readonly results: readonly ClientResult[];
}

/** Headgate's cost goals: ms of CPU a page, and how many times the plain loop's. */
const TARGETS = { pages: { cpuMs: 4, ofPlain: 1 }, ids: { cpuMs: 10, ofPlain: 1 } } as const;

/** The report's table, and what is below it. */
export function kafkaReport(cases: readonly KafkaCase[], { markdown }: { readonly markdown: boolean }): string {
  const head = ['page as', 'client', 'CPU ms/page', 'least', 'of plain', 'ms/page', 'least', 'peak MB', 'idle CPU ms/s'];
  const rows = cases.flatMap(({ shape, codec, results }) =>
    results.map((result) => [
      `${shape}, ${codec}`,
      result.client.name,
      median(result.cpuMs).toFixed(2),
      Math.min(...result.cpuMs).toFixed(2),
      ofPlain(result, results).toFixed(2),
      median(result.wallMs).toFixed(2),
      Math.min(...result.wallMs).toFixed(2),
      (result.peakBytes / 1_000_000).toFixed(0),
      result.idleCpuMs?.toFixed(1) ?? '',
    ]),
  );
  return [textTable({ head, rows, markdown }), cases.map(verdict).join('\n')].join('\n\n');
}

function verdict({ shape, codec, results }: KafkaCase): string {
  const own = results.find(({ client }) => client === HEADGATE);
  if (own === undefined) return '';
  const { cpuMs, ofPlain: most } = TARGETS[shape];
  const [cost, share] = [median(own.cpuMs), ofPlain(own, results)];
  const said = (reached: boolean): string => (reached ? 'reached' : 'MISSED');
  const records = own.written.count.toLocaleString('en-US');
  return (
    `${shape}, ${codec}: under ${cpuMs} ms of CPU ${said(cost < cpuMs)}, at most ${most.toFixed(1)} of plain ${said(share <= most)}; ` +
    `${records} records each, byte for byte the same`
  );
}

/** The median of what it cost beside the plain loop in the same round. */
function ofPlain({ cpuMs }: ClientResult, results: readonly ClientResult[]): number {
  const plain = results.find(({ client }) => client === PLAIN);
  return median(cpuMs.map((cost, round) => cost / (plain?.cpuMs[round] ?? NaN)));
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}
