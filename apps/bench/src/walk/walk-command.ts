import { median } from '../median.ts';
import { serverProcess } from '../server-process.ts';
import { textTable } from '../text-table.ts';
import { bareWalker, headgateWalker } from './own-walkers.ts';
import { IDS_PER_PAGE } from './page-server.ts';
import { axiosWalker, gotWalker, twitterApiWalker } from './peer-walkers.ts';
import type { Walker } from './walker.ts';

const BARE = 'undici.request + JSON.parse';

interface Measured {
  readonly pagesPerSecond: number;
  readonly cpuMicrosPerPage: number;
}

/** Crawls the same pages with every client in turn, in several rounds. Returns the report. `program` serves the pages. */
export async function walkCommand(
  program: readonly string[],
  peers: string,
  rounds: number,
  pages: number,
  say: (text: string) => void,
): Promise<string> {
  using server = await serverProcess(program, pages);
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
  const bare = measured.get(BARE) ?? [];
  const rows = [...measured].map(([name, runs]) => {
    const ofBare = (figure: keyof Measured): string => median(runs.map((run, i) => run[figure] / (bare[i]?.[figure] ?? NaN))).toFixed(2);
    const middle = (figure: keyof Measured): string => median(runs.map((run) => run[figure])).toFixed(0);
    return [name, middle('pagesPerSecond'), ofBare('pagesPerSecond'), middle('cpuMicrosPerPage'), ofBare('cpuMicrosPerPage')];
  });
  return [
    `Walks of ${pages} pages of ${IDS_PER_PAGE} ids over loopback, medians of ${rounds} alternating rounds`,
    textTable(['client', 'pages/s', 'of bare', 'CPU µs/page', 'of bare'], rows),
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
