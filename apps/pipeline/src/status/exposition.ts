import type { Histogram } from '@headgate/pipeline';

export type Metric =
  | { readonly name: string; readonly type: 'counter' | 'gauge'; readonly help: string; readonly series: readonly Series<number>[] }
  | { readonly name: string; readonly type: 'histogram'; readonly help: string; readonly series: readonly Series<Histogram>[] };

export type Series<Value> = readonly [labels: Readonly<Record<string, string>>, value: Value];

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Formats metrics in Prometheus's text format. Converts the durations of histograms from ms to seconds. */
export function exposition(metrics: readonly Metric[]): string {
  const lines = metrics.flatMap((metric) => {
    const { name, type, help } = metric;
    const series =
      metric.type === 'histogram' ? metric.series.flatMap((one) => histogramLines(name, one)) : metric.series.map(sampleOf(name));
    return [`# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`, `# TYPE ${name} ${type}`, ...series];
  });
  return `${lines.join('\n')}\n`;
}

function sampleOf(name: string): (series: Series<number>) => string {
  return ([labels, value]) => {
    const said = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
    return `${name}${said.length === 0 ? '' : `{${said.join(',')}}`} ${numberWords(value)}`;
  };
}

function histogramLines(name: string, [labels, { boundsMs, counts, sumMs }]: Series<Histogram>): string[] {
  let count = 0;
  const buckets = [...boundsMs, Infinity].map((bound, i): Series<number> => {
    count += counts[i] ?? 0;
    return [{ ...labels, le: numberWords(bound / 1_000) }, count];
  });
  return [
    ...buckets.map(sampleOf(`${name}_bucket`)),
    sampleOf(`${name}_sum`)([labels, sumMs / 1_000]),
    sampleOf(`${name}_count`)([labels, count]),
  ];
}

function numberWords(value: number): string {
  return Number.isFinite(value) ? String(value) : value > 0 ? '+Inf' : value < 0 ? '-Inf' : 'NaN';
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
