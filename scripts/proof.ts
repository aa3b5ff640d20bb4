// Tests packages as users get them: published to a registry on this machine, installed by name, and used with other tools.
//   npm run proof
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportedEntries } from './outside/exported-entries.ts';
import { startRegistry } from './outside/registry.ts';
import { publishedPackages } from './release/packages.ts';
import { run } from './run.ts';

const root = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'headgate-proof-'));
const server: { close?: () => void } = {};
const env: NodeJS.ProcessEnv = { ...process.env, NO_COLOR: '1' };
process.on('exit', () => {
  server.close?.();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

const npm = ['npm', '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'];
const runtimes = join(folder, 'runtimes');
const app = join(folder, 'app');
let failures = 0;

const registry = await startRegistry(folder);
server.close = registry.close;
Object.assign(env, registry.env);
const tarballs = join(folder, 'tarballs');
await must(root, [process.execPath, join(root, 'scripts/pack.mjs'), tarballs]);
for (const name of readdirSync(tarballs)) await must(folder, [...npm, 'publish', join(tarballs, name)]);
const platform = `${process.platform}-${process.arch}`;
await install(runtimes, { node22: `npm:node-${platform}@22.19.0`, node20: `npm:node-${platform}@20.20.2`, deno: '2.9.6', bun: '1.4.5' });
await install(app, {
  ...Object.fromEntries(publishedPackages(root).map(({ manifest }) => [manifest.name, 'latest'])),
  rxjs: '^7.8.2',
  '@types/node': '24',
  typescript: 'latest',
  'typescript-5.4': 'npm:typescript@5.4.5',
});
for (const name of ['program.mjs', 'types.ts']) copyFileSync(join(root, 'scripts/outside', name), join(app, name));

const entries = exportedEntries(root);
writeFileSync(join(app, 'entries.ts'), entries.map((name, i) => `export * as entry${i} from '${name}';\n`).join(''));
const nodes = { [`Node ${process.versions.node}`]: process.execPath, 'Node 22.19.0': join(runtimes, 'node_modules/node22/bin/node') };
for (const [name, node] of Object.entries(nodes)) {
  const load = (how: string): string =>
    `const load = ${how}; for (const name of ${JSON.stringify(entries)}) { if (!Object.keys(await load(name)).length) throw name; }`;
  await proof(`${name}: import of ${entries.length} entries`, [node, '--input-type=module', '--eval', load('(name) => import(name)')]);
  await proof(`${name}: require of ${entries.length} entries`, [node, '--eval', `(async () => { ${load('require')} })()`]);
  await proof(`${name}: a program`, [node, 'program.mjs', 'ids.db'], '12345 ids, 0 left\n');
}
await proof(
  'Deno 2.9.6: a program',
  [join(runtimes, 'node_modules/.bin/deno'), 'run', '-A', '--node-modules-dir=manual', 'program.mjs', 'ids.db'],
  '12345 ids, 0 left\n',
);
await proof('Bun 1.4.5: a program', [join(runtimes, 'node_modules/.bin/bun'), 'program.mjs', 'ids.db'], '12345 ids, 0 left\n');

for (const [name, compiler] of Object.entries({ 'TypeScript 5.4': 'typescript-5.4/bin/tsc', 'newest TypeScript': 'typescript/bin/tsc' })) {
  for (const [module, resolution] of [
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ]) {
    const flags = '--noEmit --strict --exactOptionalPropertyTypes --skipLibCheck false --target es2022 --types node'.split(' ');
    const lib = ['--lib', 'es2023,esnext.disposable'];
    const modules = ['--module', module ?? '', '--moduleResolution', resolution ?? ''];
    const command = [process.execPath, join(app, 'node_modules', compiler), ...flags, ...lib, ...modules];
    await proof(`${name}: ${resolution}: types of ${entries.length} entries`, [...command, 'types.ts', 'entries.ts'], '');
  }
}

await proof('npx headgate --version', ['npx', '--no-install', 'headgate', '--version']);
await proof('npx headgate run --sandbox', ['npx', '--no-install', 'headgate', 'run', '--sandbox']);
const old = await run([join(runtimes, 'node_modules/node20/bin/node'), 'node_modules/.bin/headgate', 'run'], { cwd: app });
told(
  'Node 20.20.2: one sentence and exit 2',
  old.code === 2 && old.stderr === 'headgate needs Node 22.19 or later; this is 20.20.2.\n',
  old.stderr,
);

process.stdout.write(failures === 0 ? 'All of it holds.\n' : `${failures} of it fail.\n`);
process.exit(failures === 0 ? 0 : 1);

async function install(where: string, dependencies: Readonly<Record<string, string>>): Promise<void> {
  mkdirSync(where, { recursive: true });
  writeFileSync(join(where, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }));
  await must(where, [...npm, 'install']);
}

async function must(cwd: string, command: readonly string[]): Promise<void> {
  const { code } = await run(command, { cwd, env, stdio: ['ignore', 2, 2] });
  if (code !== 0) throw new Error(`\`${command.join(' ')}\` failed.`);
}

/** Runs a command. It must end with 0 and, if `stdout` is given, print exactly that. */
async function proof(name: string, command: readonly string[], stdout?: string): Promise<void> {
  const ended = await run(command, { cwd: app, env, timeout: 300_000 });
  told(name, ended.code === 0 && (stdout === undefined || ended.stdout === stdout), `${ended.stdout}${ended.stderr}`);
}

function told(name: string, holds: boolean, output: string): void {
  if (!holds) failures += 1;
  process.stdout.write(holds ? `✓ ${name}\n` : `✗ ${name}\n${output}\n`);
}
