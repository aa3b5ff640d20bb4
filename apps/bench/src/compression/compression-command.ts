import { promisify } from 'node:util';
import { constants, gzip, zstdCompress } from 'node:zlib';
import { seededRandom } from '../limiter/random.ts';
import { textTable } from '../text-table.ts';
import { IDS_PER_PAGE } from '../walk/page-server.ts';

const ROUNDS = 200;

/** Compressions at the levels that Headgate writes with. */
const COMPRESSIONS: Readonly<Record<string, (page: Buffer) => Promise<Buffer>>> = {
  none: (page) => Promise.resolve(page),
  gzip: (page) => promisify(gzip)(page, { level: 1 }),
  zstd: (page) => promisify(zstdCompress)(page, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
};

/** Compresses a page of random IDs again and again, and returns the report. Real IDs are as random, because an account's followers are in no order. */
export async function compressionCommand(seed: number): Promise<string> {
  const random = seededRandom({ seed, stream: 0 });
  const id = (): string => `1${Array.from({ length: 18 }, () => Math.floor(10 * random())).join('')}`;
  const page = Buffer.from(JSON.stringify({ ids: Array.from({ length: IDS_PER_PAGE }, id) }));
  const rows: string[][] = [];
  for (const [name, compress] of Object.entries(COMPRESSIONS)) {
    const { length } = await compress(page);
    const cpu = process.cpuUsage();
    for (let round = 0; round < ROUNDS; round += 1) await compress(page);
    const { user, system } = process.cpuUsage(cpu);
    rows.push([name, ((user + system) / ROUNDS / 1_000).toFixed(1), (length / 1_000).toFixed(0)]);
  }
  return `A page of ${IDS_PER_PAGE} IDs, compressed\n\n${textTable(['compression', 'CPU ms', 'kB'], rows)}`;
}
