export interface ScrapedMetric {
  readonly type: string;
  readonly help: string;
  /** Names of the labels of its samples, without `le`. */
  readonly labels: readonly string[];
  readonly samples: readonly Sample[];
}

export interface Sample {
  /** Name of the sample; in a histogram with a suffix such as `_bucket`. */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Reads the text format of Prometheus, more strictly than Prometheus does. Throws for a misplaced or malformed line. */
export function scraped(text: string): ReadonlyMap<string, ScrapedMetric> {
  const metrics = new Map<string, { help: string; type: string; labels: string[]; samples: Sample[] }>();
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  let current = '';
  for (const line of text.slice(0, -1).split('\n')) {
    const [, help, type, name = '', rest = ''] = /^(?:# (?:(HELP)|(TYPE)) )?([a-z_]+)(.*)$/u.exec(line) ?? [];
    if (help !== undefined) {
      if (metrics.has(name)) throw new Error(`twice: ${line}`);
      metrics.set((current = name), { help: rest.slice(1), type: '', labels: [], samples: [] });
      continue;
    }
    const metric = metrics.get(current);
    if (type !== undefined && metric?.type === '' && name === current) {
      metric.type = rest.slice(1);
      continue;
    }
    const isOwn = metric?.type === 'histogram' ? new RegExp(`^${current}_(?:bucket|sum|count)$`, 'u').test(name) : name === current;
    const [, inner = '', value = ''] = /^(?:\{(.*)\})? (\S+)$/u.exec(rest) ?? [];
    if (metric === undefined || metric.type === '' || !isOwn || value === '') throw new Error(`out of place: ${line}`);
    const pairs = [...inner.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"(?:,|$)/gu)];
    if (pairs.map(([all]) => all).join('') !== inner) throw new Error(`labels: ${line}`);
    const labels = Object.fromEntries(pairs.map(([, label = '', of = '']) => [label, of]));
    metric.samples.push({ name, labels, value: value === '+Inf' ? Infinity : Number(value) });
    for (const label of Object.keys(labels)) if (label !== 'le' && !metric.labels.includes(label)) metric.labels.push(label);
  }
  return metrics;
}
