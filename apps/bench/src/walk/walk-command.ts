import { median } from '../median.ts';
import { serverProcess } from '../server-process.ts';
import { textTable } from '../text-table.ts';
import { microCosts } from './micro-costs.ts';
import { bareWalker, headgateWalker } from './own-walkers.ts';
import { axiosWalker, gotWalker, twitterApiWalker } from './peer-walkers.ts';
import { IDS_PER_PAGE } from './page-server.ts';
import type { Walker } from './walker.ts';

export interface WalkCommandOptions {
  /** The program that serves pages. It takes options as JSON, and prints its port. */
  readonly program: readonly string[];
  readonly peers: string;
  readonly rounds: number;
  readonly pages: number;
  readonly markdown: boolean;
  readonly say: (text: string) => void;
}

const BARE = 'undici.request + JSON.parse';

interface Measured {
  readonly pagesPerSecond: number;
  readonly cpuMicrosPerPage: number;
}

/** Crawls the same pages with every client in turn, in several rounds. Returns the report. */
export async function walkCommand(options: WalkCommandOptions): Promise<string> {
  const { peers, rounds, pages, markdown, say } = options;
  using server = await serverProcess(options.program, { pages, idsPerPage: IDS_PER_PAGE });
  const { origin } = server;
  const walkers: ReadonlyMap<string, Walker> = new Map([
    [BARE, bareWalker(origin)],
    ['Headgate', headgateWalker(origin)],
    ['got', await gotWalker(peers, origin)],
    ['axios', await axiosWalker(peers, origin)],
    ['twitter-api-v2', await twitterApiWalker(peers, origin)],
  ]);
  const measured = new Map<string, Measured[]>([...walkers.keys()].map((name) => [name, []]));
  // The first round warms up and isn't counted.
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, walker] of walkers) {
      const one = await measure(walker, pages);
      if (round > 0) measured.get(name)?.push(one);
    }
    say(`round ${round} of ${rounds}`);
  }
  const { pageMicros, itemMicros } = await microCosts();
  const bare = measured.get(BARE) ?? [];
  const rows = [...measured].map(([name, runs]) => [
    name,
    '',
    median(runs.map((run) => run.pagesPerSecond)).toFixed(0),
    median(runs.map((run, i) => run.pagesPerSecond / (bare[i]?.pagesPerSecond ?? NaN))).toFixed(2),
    median(runs.map((run) => run.cpuMicrosPerPage)).toFixed(0),
    median(runs.map((run, i) => run.cpuMicrosPerPage / (bare[i]?.cpuMicrosPerPage ?? NaN))).toFixed(2),
  ]);
  const head = ['client', '', 'pages/s', 'of bare', 'CPU µs/page', 'of bare'];
  return [
    `Walks of ${pages} pages of ${IDS_PER_PAGE} ids over loopback, medians of ${rounds} alternating rounds`,
    textTable({ head, rows, markdown }),
    `Admission and drain: ${pageMicros.toFixed(1)} µs a page, ${itemMicros.toFixed(3)} µs an item\n`,
  ].join('\n\n');
}

async function measure(walker: Walker, pages: number): Promise<Measured> {
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  const ids = await walker();
  const elapsedMs = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(cpu);
  if (ids !== pages * IDS_PER_PAGE) throw new Error(`a walk returned ${ids} ids instead of ${pages * IDS_PER_PAGE}`);
  return { pagesPerSecond: (pages * 1_000) / elapsedMs, cpuMicrosPerPage: (user + system) / pages };
}
