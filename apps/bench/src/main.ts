import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { limiterCommand } from './limiter/limiter-command.ts';
import { runScenario, type ScenarioTask } from './limiter/run-scenario.ts';
import { installPeers } from './install/install-peers.ts';
import { manyCommand } from './many/many-command.ts';
import { COMPRESSIONS } from './peers/contestants.ts';
import { peersCommand } from './peers/peers-command.ts';
import { queueCommand } from './queue/queue-command.ts';
import { pageServer, type PageServerOptions } from './walk/page-server.ts';
import { recordServer, type RecordServerOptions } from './section/record-server.ts';
import { sectionCommand } from './section/section-command.ts';
import { walkCommand } from './walk/walk-command.ts';

const USAGE = `bench limiter [--seed N] [--quick] [--only NAME] [--markdown | --json]
bench walk [--rounds N] [--pages N] [--markdown]
bench section [--rounds N] [--pages N] [--markdown]
bench queue [--waiters N] [--markdown]
bench many [--users N] [--markdown]
bench peers [--rounds N] [--pages N,N] [--only PATTERN] [--compression none | gzip | zstd] [--markdown]
`;

const peers = fileURLToPath(new URL('../../../.tools/bench', import.meta.url));
const program = (task: string): readonly string[] => [process.execPath, ...process.execArgv, fileURLToPath(import.meta.url), task];
const say = (text: string): void => {
  process.stderr.write(`bench: ${text}\n`);
};

const HOUR_MS = 60 * 60_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: '1' },
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    markdown: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    pages: { type: 'string' },
    compression: { type: 'string', default: 'none' },
    waiters: { type: 'string', default: '100000' },
    users: { type: 'string', default: '100000' },
  },
});
const [command, task = ''] = positionals;
const { quick, only, markdown, json } = values;

if (command === 'limiter') {
  installPeers({ folder: peers, say });
  const durationMs = (quick ? 2 : 24) * HOUR_MS;
  const report = await limiterCommand({
    program: program('run-scenario'),
    peers,
    seed: Number(values.seed),
    durationMs,
    markdown,
    json,
    say,
    ...(only !== undefined && { only }),
  });
  process.stdout.write(report);
} else if (command === 'run-scenario') {
  process.stdout.write(JSON.stringify(await runScenario(JSON.parse(task) as ScenarioTask)));
  // Some peers keep handles open that would keep this process alive.
  process.exit();
} else if (command === 'walk') {
  installPeers({ folder: peers, say });
  const report = await walkCommand({
    program: program('serve-pages'),
    peers,
    rounds: Number(values.rounds ?? 7),
    pages: Number(values.pages ?? 200),
    markdown,
    say,
  });
  process.stdout.write(report);
  // The clients keep their connections open, which would keep this process alive.
  process.exit();
} else if (command === 'section') {
  const [rounds, pages] = [Number(values.rounds ?? 7), Number(values.pages ?? 200)];
  process.stdout.write(await sectionCommand({ program: program('serve-records'), rounds, pages, markdown, say }));
} else if (command === 'queue') {
  installPeers({ folder: peers, say });
  process.stdout.write(await queueCommand({ peers, waiters: Number(values.waiters), markdown, say }));
} else if (command === 'many') {
  process.stdout.write(await manyCommand({ users: Number(values.users), markdown, say }));
} else if (command === 'peers') {
  const compression = COMPRESSIONS.find((name) => name === values.compression);
  const sizes = (values.pages ?? '200,1000').split(',').map(Number);
  if (compression === undefined || !sizes.every((size) => Number.isInteger(size) && size > 0)) usage();
  else {
    const report = await peersCommand({
      program: program('serve-pages'),
      peers,
      rounds: Number(values.rounds ?? 3),
      sizes: sizes.sort((a, b) => a - b),
      compression,
      only: new RegExp(only ?? ''),
      markdown,
      say,
    });
    process.stdout.write(report);
  }
} else if (command === 'serve-pages' || command === 'serve-records') {
  const server =
    command === 'serve-pages' ? pageServer(JSON.parse(task) as PageServerOptions) : recordServer(JSON.parse(task) as RecordServerOptions);
  // The bench holds the other end of stdin, so a server ends with the bench, even if the bench is killed.
  process.stdin.resume().on('end', () => process.exit());
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (typeof address === 'object' && address !== null) process.stdout.write(String(address.port));
  });
} else {
  usage();
}

function usage(): void {
  process.stderr.write(USAGE);
  process.exitCode = 2;
}
