import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Pipeline, definePipeline, start, topic, walk } from '@headgate/pipeline';
import { rest } from '@headgate/rest';
import { cursorParameter, defineSource, statusVerdict } from '@headgate/sources';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import * as z from 'zod';
import { median } from '../median.ts';
import { serverProcess } from '../server-process.ts';
import { textTable } from '../text-table.ts';
import { RECORDS_PER_PAGE } from './record-server.ts';

export interface SectionCommandOptions {
  /** The program that serves records. It takes options as JSON, and prints its port. */
  readonly program: readonly string[];
  readonly rounds: number;
  readonly pages: number;
  readonly markdown: boolean;
  readonly say: (text: string) => void;
}

const LIMIT = { requests: 100_000, windowMs: 100 };

const issuePage = z.looseObject({ data: z.array(z.looseObject({ id: z.int(), updated_at: z.string() })), next: z.string().nullable() });

type IssuePage = z.output<typeof issuePage>;

/** The code that a user would write instead of the section. */
const issuesSource = defineSource<{ readonly cursor: string | undefined }, IssuePage>({
  service: 'code',
  limit: LIMIT,
  toRequest: ({ cursor }) => ({
    method: 'GET',
    path: '/issues',
    query: { size: String(RECORDS_PER_PAGE), ...(cursor !== undefined && { cursor }) },
  }),
  classify: (answer, context) => statusVerdict(answer, context, issuePage),
  subject: () => 'issues',
  items: () => RECORDS_PER_PAGE,
  itemsOf: ({ data }) => data.length,
});

const code = definePipeline({
  name: 'code',
  options: z.strictObject({ baseUrl: z.string() }),
  request: z.strictObject({ all: z.literal(true) }),
  topics: { issues: topic({ value: z.unknown() }) },
  keyOf: () => 'issues',
  listed: () => [{ all: true as const }],
  open: ({ baseUrl }, io) =>
    walk({
      source: issuesSource({ ...io, baseUrl, credentials: [{ name: 'anyone', signer: { sign: () => ({}) } }] }),
      paging: () => cursorParameter({ query: (cursor) => ({ cursor }), next: ({ next }: IssuePage) => next }),
      records: ({ data }: IssuePage, { topics }) => data.map((issue) => topics.issues({ key: String(issue.id), value: issue })),
    }),
});

const sections = (baseUrl: string): ReadonlyMap<string, Pipeline> => {
  const least = { baseUrl, credentials: [{ name: 'anyone' }], limit: { requests: LIMIT.requests, window: LIMIT.windowMs } };
  const issues = {
    get: '/issues',
    records: '$.data[*]',
    key: '$.id',
    pages: { cursor: '$.next', as: { query: 'cursor' }, size: { query: 'size', is: RECORDS_PER_PAGE } },
  };
  return new Map<string, Pipeline>([
    ['code', code({ baseUrl })],
    ['section', rest('section')({ ...least, streams: { issues } })],
  ]);
};

/** Runs a section and the same pipeline in code alternately into an embedded log. Returns the report. */
export async function sectionCommand({ program, rounds, pages, markdown, say }: SectionCommandOptions): Promise<string> {
  using server = await serverProcess(program, { pages });
  const pipelines = sections(server.origin);
  const micros = new Map<string, number[]>([...pipelines.keys()].map((name) => [name, []]));
  // The first round warms up and isn't counted.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, pipeline] of pipelines) {
      const one = await measure(pipeline, pages);
      if (round > 0) micros.get(name)?.push(one);
    }
    say(`round ${round} of ${rounds}`);
  }
  const bare = micros.get('code') ?? [];
  const rows = [...micros].map(([name, all]) => [
    name,
    '',
    median(all).toFixed(0),
    median(all.map((one, i) => one / (bare[i] ?? Number.NaN))).toFixed(2),
  ]);
  return `Listings of ${pages} pages of ${RECORDS_PER_PAGE} records into the embedded log, medians of ${rounds} alternating rounds\n\n${textTable(
    {
      head: ['pipeline', '', 'CPU µs/page', 'of code'],
      rows,
      markdown,
    },
  )}\n`;
}

/** CPU time of a whole run, in microseconds per page. */
async function measure(pipeline: Pipeline, pages: number): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-bench-'));
  try {
    await using log = await sqliteTopicLog({ file: join(folder, 'log.db') });
    const cpu = process.cpuUsage();
    await using running = await start({ log, pipelines: [pipeline] });
    const { outcome, snapshot } = await running.done;
    const { user, system } = process.cpuUsage(cpu);
    const written = snapshot.pipelines[pipeline.name]?.pages;
    if (outcome !== 'done' || written !== pages) throw new Error(`a run of ${pipeline.name} was ${outcome} after ${written} pages`);
    return (user + system) / pages;
  } finally {
    await rm(folder, { recursive: true, maxRetries: 3 });
  }
}
