// Creates a release of what is committed, in a fresh clone: sets versions, builds, tests, packs, checks, and publishes if told to.
//   npm run release                         a dry run, which publishes nothing and changes nothing in this clone
//   npm run release -- --no-test            a dry run without the tests
//   npm run release -- --out DIR            keeps the tarballs in DIR
//   npm run release -- --publish            publishes what the registry doesn't have, and adds the commit and the tag to this clone
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { publishedPackages } from './release/packages.ts';
import { openTarball, tarballProblems } from './release/tarball-problems.ts';
import { unnamedApiChanges } from './release/unnamed-api-changes.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { publish, 'no-test': untested, out } = options();
const folder = mkdtempSync(join(tmpdir(), 'headgate-release-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

const clone = join(folder, 'clone');
const tarballs = out === undefined ? join(folder, 'tarballs') : resolve(process.env['INIT_CWD'] ?? process.cwd(), out);
if (publish && text(root, 'git', ['status', '--porcelain']) !== '') {
  fail('Commit or undo what is changed here first: a release is made of what is committed.');
}

run(root, 'git', ['clone', '--quiet', root, clone]);
run(clone, 'node', ['scripts/bootstrap.mjs', 'node', '--version']);
const unnamed = unnamedApiChanges(clone);
if (unnamed.length > 0)
  fail(`The API of ${unnamed.join(', ')} has changed since the last release, and no changeset names it: npm run changeset`);
// A release that is repeated after an error finds no changesets, which the tool would treat as a mistake.
if (readdirSync(join(clone, '.changeset')).some((name) => name.endsWith('.md'))) {
  run(clone, 'node', ['scripts/bootstrap.mjs', 'changeset', 'version']);
  run(clone, 'node', ['scripts/stamp-version.mjs']);
}
const packages = publishedPackages(clone);
const version = packages[0]?.manifest.version ?? '';
if (version === '0.0.0') fail('Nothing has a version yet, and .changeset names no change: npm run changeset');
if (!untested) run(clone, 'sh', ['.ci/run']);
run(clone, 'node', ['scripts/pack.mjs', tarballs]);

const packed = readdirSync(tarballs)
  .filter((name) => name.endsWith('.tgz'))
  .map((name) => openTarball(join(tarballs, name)))
  .filter(({ manifest }) => manifest.version === version);
const problems = packages.flatMap(({ manifest: { name } }) => {
  const tarball = packed.find(({ manifest }) => manifest.name === name);
  if (tarball === undefined) return [`${name}: no tarball of ${version}.`];
  return tarballProblems(tarball).map((problem) => `${name}: ${problem}`);
});
if (problems.length > 0) fail(problems.join('\n'));
for (const { file, manifest } of packed) {
  run(clone, 'publint', ['run', '--strict', file]);
  // All packages are ESM only. The types of the command's package use packages that aren't installed yet, so they aren't checked.
  if (manifest.bin === undefined) run(clone, 'attw', [file, '--profile', 'esm-only', '--quiet']);
}

if (publish) {
  const [name, email] = ['user.name', 'user.email'].map((key) => text(root, 'git', ['config', key]));
  run(clone, 'git', ['add', '--all']);
  if (text(clone, 'git', ['status', '--porcelain']) !== '') {
    run(clone, 'git', ['-c', `user.name=${name}`, '-c', `user.email=${email}`, 'commit', '--quiet', '-m', `Release ${version}`]);
    run(root, 'git', ['fetch', '--quiet', clone, 'HEAD']);
    run(root, 'git', ['merge', '--quiet', '--ff-only', 'FETCH_HEAD']);
  }
  for (const { manifest } of packages) {
    const file = packed.find((tarball) => tarball.manifest.name === manifest.name)?.file ?? '';
    const known = spawnSync('npm', ['view', `${manifest.name}@${version}`, 'version'], { cwd: clone, encoding: 'utf8' });
    if (known.stdout.trim() !== version) run(clone, 'npm', ['publish', file]);
    process.stdout.write(`${manifest.name} ${version} is published.\n`);
  }
  if (text(root, 'git', ['tag', '--list', `v${version}`]) === '')
    run(root, 'git', ['tag', '--annotate', '--message', `Release ${version}`, `v${version}`]);
  process.stdout.write('Commit and tag are in this clone: git push --follow-tags\n');
} else {
  for (const { manifest, paths } of packed) process.stdout.write(`${manifest.name} ${version} would be published: ${paths.size} files.\n`);
  process.stdout.write('This was a dry run. npm run release -- --publish\n');
}

function options(): { readonly publish: boolean; readonly 'no-test': boolean; readonly out?: string } {
  try {
    const { values } = parseArgs({
      options: {
        publish: { type: 'boolean', default: false },
        'no-test': { type: 'boolean', default: false },
        out: { type: 'string' },
      },
    });
    if (values.publish && values['no-test']) throw new Error('What is published is tested before: --no-test goes with a dry run alone.');
    return values;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exit(2);
  }
}

function run(cwd: string, command: string, args: readonly string[]): void {
  // The output of the tools goes to stderr. stdout is for the results of the release.
  const { status } = spawnSync(command, args, { cwd, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' });
  if (status !== 0) fail(`\`${[command, ...args].join(' ')}\` failed. Nothing after it was done.`);
}

function text(cwd: string, command: string, args: readonly string[]): string {
  return spawnSync(command, args, { cwd, encoding: 'utf8' }).stdout.trim();
}

function fail(sentence: string): never {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
}
