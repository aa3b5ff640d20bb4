import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { compressionCommand } from './compression/compression-command.ts';
import { dayCommand } from './day/day-command.ts';
import { growthCommand } from './growth/growth-command.ts';
import { installPeers } from './install/install-peers.ts';
import { limiterCommand } from './limiter/limiter-command.ts';
import { runScenario, type ScenarioTask } from './limiter/run-scenario.ts';
import { peersCommand } from './peers/peers-command.ts';
import { pageServer } from './walk/page-server.ts';
import { walkCommand } from './walk/walk-command.ts';

const USAGE = `bench compression [--seed N]
bench limiter [--seed N] [--quick] [--only NAME]
bench walk [--rounds N] [--pages N]
bench growth [--only NAME]
bench peers [--rounds N] [--pages N,N] [--only PATTERN]
bench day [--quick] [--only NAME]
`;

const HOUR_MS = 60 * 60_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '1' },
    quick: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    rounds: { type: 'string' },
    pages: { type: 'string' },
  },
});
const { quick, only, rounds, pages, seed } = values;
const [command = 'help', task = ''] = positionals;

switch (command) {
  case 'compression':
    process.stdout.write(`${await compressionCommand(Number(seed))}\n`);
    break;
  case 'limiter':
    await report((peers) => limiterCommand(program('run-scenario'), peers, Number(seed), (quick ? 2 : 24) * HOUR_MS, only, say));
    break;
  case 'walk':
    await report((peers) => walkCommand(program('serve-pages'), peers, Number(rounds ?? 7), Number(pages ?? 200), say));
    break;
  case 'growth':
    process.stdout.write(`${await growthCommand(program('serve-pages'), only, say)}\n`);
    process.exit();
    break;
  case 'peers': {
    const sizes = (pages ?? '200,1000')
      .split(',')
      .map(Number)
      .toSorted((a, b) => a - b);
    await report((peers) => peersCommand(program('serve-pages'), peers, Number(rounds ?? 3), sizes, new RegExp(only), say));
    break;
  }
  case 'day':
    await report((peers) => dayCommand(peers, quick ? 1 / 8 : 1, only, say));
    break;
  case 'run-scenario':
    process.stdout.write(JSON.stringify(await runScenario(JSON.parse(task) as ScenarioTask)));
    // Some peers keep handles open that would keep this process alive.
    process.exit();
  case 'serve-pages':
    servePages(Number(task));
    break;
  default:
    process.stderr.write(USAGE);
    process.exitCode = 2;
}

/** Installs the peers, and prints what the command reports. */
async function report(measured: (peers: string) => Promise<string>): Promise<never> {
  const peers = fileURLToPath(new URL('../../../.tools/bench', import.meta.url));
  installPeers(peers, say);
  process.stdout.write(`${await measured(peers)}\n`);
  // Some clients keep their connections open, which would keep this process alive.
  process.exit();
}

function program(name: string): readonly string[] {
  return [...process.execArgv, fileURLToPath(import.meta.url), name];
}

function say(text: string): void {
  process.stderr.write(`bench: ${text}\n`);
}

/** Serves pages, and prints the port. */
function servePages(count: number): void {
  const server = pageServer(count);
  // The bench holds the other end of stdin, so a server ends with the bench, even if the bench is killed.
  process.stdin.resume().on('end', () => process.exit());
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (typeof address === 'object' && address !== null) process.stdout.write(String(address.port));
  });
}
