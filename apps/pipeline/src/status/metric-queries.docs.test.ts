import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { busyView } from './page/busy-view.fixture.ts';
import { runMetrics } from './run-metrics.ts';
import { scraped } from './scrape.fixture.ts';

const docs = (name: string): string => fileURLToPath(new URL(`../../../../docs/${name}`, import.meta.url));
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

/** The values of each label, by the name of the sample and of the label. */
const SAMPLES = new Map<string, Map<string, Set<string>>>();
for (const { samples } of scraped(runMetrics(busyView(), { cpuSeconds: 1, residentBytes: 1 }).body).values()) {
  for (const { name, labels } of samples) {
    const known = SAMPLES.get(name) ?? new Map<string, Set<string>>();
    for (const [label, value] of Object.entries(labels)) known.set(label, (known.get(label) ?? new Set()).add(value));
    SAMPLES.set(name, known);
  }
}

/** Labels that Prometheus adds to every sample. */
const OF_TARGETS = ['job', 'instance'];
const NO_METRIC = /^(?:and|or|unless|on|ignoring|by|without|bool|offset|group_left|group_right)$/u;

/** The names, labels and values in a query that no scrape contains. */
function unknowns(query: string): string[] {
  const wrong: string[] = [];
  const used = new Set<string>();
  const selected = query.replaceAll(/([a-z_]+)\{([^}]*)\}/gu, (_, name: string, matchers: string) => {
    for (const [, label = '', operator = '', value = ''] of matchers.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/gu)) {
      const values = SAMPLES.get(name)?.get(label);
      if (values === undefined && !OF_TARGETS.includes(label)) wrong.push(`${name}{${label}}`);
      if (operator === '=' && values?.has(value) === false) wrong.push(`${name}{${label}="${value}"}`);
    }
    return name;
  });
  const lists: string[] = [];
  const bare = selected
    .replaceAll(/\b(?:by|on|ignoring|without)\s*\(([^)]*)\)/gu, (_, list: string) => {
      lists.push(...list.split(',').map((label) => label.trim()));
      return '';
    })
    .replaceAll(/\[[^\]]*\]/gu, '');
  for (const [, name = '', call] of bare.matchAll(/\b([a-z_]+)\b\s*(\()?/gu)) {
    if (call !== undefined || NO_METRIC.test(name)) continue;
    used.add(name);
    if (!SAMPLES.has(name) && name !== 'up') wrong.push(name);
  }
  for (const label of lists) {
    const isKnown = OF_TARGETS.includes(label) || [...used].some((name) => SAMPLES.get(name)?.has(label));
    if (!isKnown) wrong.push(`by ${label}`);
  }
  if (used.size === 0) wrong.push('no metric');
  return wrong;
}

it('the check finds names in a query that no scrape has', () => {
  expect(
    unknowns('sum by (pipeline, le) (rate(headgate_request_duration_seconds_bucket{pipeline=~"$p", instance="a"}[5m])) > 0.5'),
  ).toEqual([]);
  expect(unknowns('headgate_pages > 1')).toEqual(['headgate_pages']);
  expect(unknowns('headgate_request_duration_seconds')).toEqual(['headgate_request_duration_seconds']);
  expect(unknowns('headgate_requests_total{outcome="fine"}')).toEqual(['headgate_requests_total{outcome="fine"}']);
  expect(unknowns('headgate_pages_total{user="a"}')).toEqual(['headgate_pages_total{user}']);
  expect(unknowns('sum by (le) (headgate_pages_total) and on (job, user) headgate_lanes')).toEqual(['by le', 'by user']);
  expect(unknowns('time() - 1')).toEqual(['no metric']);
});

const dashboard = z.object({
  uid: z.literal('headgate'),
  panels: z.array(
    z.object({
      id: z.number(),
      title: z.string().min(1),
      gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
      targets: z.array(z.object({ expr: z.string() })).optional(),
    }),
  ),
  templating: z.object({ list: z.array(z.object({ name: z.string(), definition: z.string().optional() })) }),
  annotations: z.object({ list: z.array(z.object({ expr: z.string() })) }),
});

it('docs/grafana.json queries only existing metrics and labels, in panels that don’t overlap', async () => {
  const { panels, templating, annotations } = dashboard.parse(JSON.parse(await readFile(docs('grafana.json'), 'utf8')));
  const queries = [...panels.flatMap(({ targets = [] }) => targets), ...annotations.list].map(({ expr }) => expr);
  expect(queries.length).toBeGreaterThan(20);
  expect(queries.flatMap((query) => unknowns(query).map((wrong) => `${wrong} in ${query}`))).toEqual([]);
  const variables = templating.list.map(({ name }) => name).concat('__rate_interval');
  const named = queries.flatMap((query) => [...query.matchAll(/\$(\w+)/gu)].map(([, name]) => name));
  expect(variables).toEqual(expect.arrayContaining([...new Set(named)]));
  for (const { definition = 'label_values(headgate_lanes, pipeline)' } of templating.list) {
    const [, metric = '', label = ''] = /^label_values\((\w+), (\w+)\)$/u.exec(definition) ?? [];
    expect(unknowns(`sum by (${label}) (${metric})`)).toEqual([]);
  }
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, i) => `${x + (i % w)} ${y + Math.floor(i / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
});

/** The headings of a documentation page, as fragments of its address. */
async function headings(url: string): Promise<string[]> {
  const page = await readFile(docs(new URL(url).pathname.replace(/^.*\/docs\//u, '')), 'utf8');
  return [...page.matchAll(/^## (.+)$/gmu)].map(([, title = '']) => `#${title.toLowerCase().replaceAll(' ', '-')}`);
}

it('docs/alerts.yaml queries only existing metrics and labels, and so do its texts', async () => {
  const text = z.object({ summary: z.string().min(1), description: z.string().min(1), runbook_url: z.string() });
  const rule = z.object({ alert: z.string(), expr: z.string(), labels: z.object({ severity: z.string() }), annotations: text });
  const rules = z.object({ groups: z.array(z.object({ rules: z.array(rule) })) });
  const all = rules.parse(parse(await readFile(docs('alerts.yaml'), 'utf8'))).groups.flatMap((group) => group.rules);
  expect(all.length).toBeGreaterThan(5);
  for (const { alert, expr, annotations } of all) {
    expect([alert, unknowns(expr)]).toEqual([alert, []]);
    expect([alert, await headings(annotations.runbook_url)]).toEqual([
      alert,
      expect.arrayContaining([new URL(annotations.runbook_url).hash]),
    ]);
    const said = [...`${annotations.summary} ${annotations.description}`.matchAll(/\$labels\.(\w+)/gu)].map(([, label]) => label ?? '');
    const [metric = ''] = /headgate_\w+/u.exec(expr) ?? [];
    const [, list] = /^\s*(?:sum|min|max) by \(([^)]*)\)/u.exec(expr) ?? [];
    const kept = list?.split(', ') ?? [...OF_TARGETS, ...(SAMPLES.get(metric)?.keys() ?? [])];
    expect([alert, said.filter((label) => !kept.includes(label))]).toEqual([alert, []]);
  }
});

it.skipIf(!hasPromtool)('docs/alerts.yaml passes `promtool check rules` (skipped where Prometheus is not installed)', () => {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', docs('alerts.yaml')], { encoding: 'utf8' });
  expect([status, stderr, stdout]).toEqual([0, '', expect.stringMatching(/SUCCESS: \d+ rules found/u)]);
});

it.skipIf(!hasPromtool)(
  'docs/alerts.yaml fires when it should, and not for a pipeline that waits for its quota (skipped where Prometheus is not installed)',
  async () => {
    const series = (name: string, values: string, labels: string): object => ({
      series: `headgate_${name}{job="j",instance="i"${labels}}`,
      values,
    });
    const [still, waiting] = ['still', 'waiting'].map((name) => `,pipeline="${name}"`);
    const wait = (budget: string, values: string, of = ''): object =>
      series('budget_wait_seconds', values, `${of},credential="c",budget="${budget}"`);
    const both = [still, waiting].flatMap((of = '') => [
      series('requests_total', '5+0x180', `${of},credential="c",outcome="ok"`),
      series('requests_left', '10+0x180', of),
      wait('rate', '0+0x180', of),
    ]);
    const fired = (alertname: string, pipeline?: string): object => ({
      labels: `{alertname="Headgate${alertname}"${pipeline === undefined ? '' : `,pipeline="${pipeline}"`}}`,
      value: 1,
    });
    const firing = (which: string): string => `count by (alertname, pipeline) (ALERTS{alertstate="firing",alertname=~"Headgate${which}"})`;
    const alerts = {
      interval: '1m',
      input_series: [
        ...both,
        wait('quota', '36000-60x180', waiting),
        series('done_time_seconds', '100000+60x180', still ?? ''),
        series('done_time_seconds', '100000+0x180', waiting ?? ''),
        series('dead_letters_total', '0x29 1x150', still ?? ''),
        series('failing_seconds', '0+60x180', still ?? ''),
        series('lanes_failed', '0x9 1x170', still ?? ''),
        series('log_available', '1x9 0x170', ''),
        { series: 'up{job="headgate",instance="i"}', values: '1x60 0x120' },
      ],
      promql_expr_test: [
        { expr: firing('.*'), eval_time: '4m', exp_samples: [] },
        {
          expr: firing('.*'),
          eval_time: '35m',
          exp_samples: [
            ...['DeadLetters', 'LaneFailed', 'ServiceFails', 'Stalled'].map((name) => fired(name, 'still')),
            fired('LogUnavailable'),
          ],
        },
        { expr: firing('Absent'), eval_time: '1h', exp_samples: [] },
        { expr: firing('Absent'), eval_time: '1h10m', exp_samples: [fired('Absent')] },
        {
          expr: firing('FinishTimeSlips'),
          eval_time: '2h5m',
          exp_samples: [fired('FinishTimeSlips', 'still')],
        },
      ],
    };
    const folder = await mkdtemp(join(tmpdir(), 'headgate-alerts-'));
    try {
      const file = join(folder, 'alerts.json');
      await writeFile(file, JSON.stringify({ rule_files: [docs('alerts.yaml')], evaluation_interval: '1m', tests: [alerts] }));
      const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
      expect([status, stdout + stderr]).toEqual([0, expect.stringContaining('SUCCESS')]);
    } finally {
      await rm(folder, { recursive: true });
    }
  },
);
