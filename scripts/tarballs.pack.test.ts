import { execFileSync, spawnSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundled } from './outside/bundled.fixture.ts';
import { exportedEntries } from './outside/exported-entries.ts';
import type { Manifest } from './release/packages.ts';
import { run } from './run.ts';

const PACK = fileURLToPath(new URL('pack.mjs', import.meta.url));
const PACKED = /^(?:package\.json|README\.md|CHANGELOG\.md|LICENSE|(?:src|dist)\/[\w./-]+)$/u;
const NAMES = [
  '@headgate/auth',
  '@headgate/operators',
  '@headgate/pipeline',
  '@headgate/registry',
  '@headgate/rest',
  '@headgate/sandbox',
  '@headgate/sources',
  '@headgate/throttle',
  '@headgate/topics',
  'headgate',
];

/** Optional packages, each with a schema that needs it. */
const FORMATS = [
  ['avsc', 'issue.avsc', '{"type":"record","name":"Issue","fields":[{"name":"id","type":"long"}]}'],
  ['protobufjs', 'issue.proto', 'syntax = "proto3"; message Issue { int64 id = 1; }'],
] as const;

const yamlWith = (schema: string): string => `topics: { driver: sqlite, file: ./headgate.db }
tracker:
  use: rest
  baseUrl: http://127.0.0.1:1
  credentials: [{ name: anyone }]
  limit: { requests: 1, window: 1s }
  streams: { issues: { get: /issues, key: $.id, schema: ./${schema} } }
`;

interface Tarball {
  readonly file: string;
  readonly manifest: Manifest;
  readonly paths: ReadonlySet<string>;
}

function openTarball(file: string): Tarball {
  const tar = (...args: readonly string[]): string => execFileSync('tar', args, { encoding: 'utf8' });
  const manifest = JSON.parse(tar('-xzOf', file, 'package/package.json')) as Manifest;
  return {
    file,
    manifest,
    paths: new Set(
      tar('-tzf', file)
        .trim()
        .replaceAll(/^package\//gmu, '')
        .split('\n'),
    ),
  };
}

describe('npm run pack', () => {
  let folder: string;
  let packages: readonly Tarball[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headgate-pack-'));
    const stale = fileURLToPath(new URL('../packages/auth/dist/stale.js', import.meta.url));
    await mkdir(dirname(stale), { recursive: true });
    await writeFile(stale, '');
    // INIT_CWD simulates a call from another folder, to which the relative path refers.
    const { code, stderr } = await run([process.execPath, PACK, 'tarballs'], { env: { ...process.env, INIT_CWD: folder } });
    if (code !== 0) throw new Error(stderr);
    const tarballs = (await readdir(join(folder, 'tarballs'))).map((name) => join(folder, 'tarballs', name));
    packages = tarballs.map(openTarball).toSorted((one, other) => (one.manifest.name < other.manifest.name ? -1 : 1));
  }, 300_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('packs every package and the app', () => {
    expect(packages.map(({ manifest }) => manifest.name)).toEqual(NAMES);
  });

  it('packs sources and what they were built to, without tests or what an earlier build has left', () => {
    const isForeign = (path: string): boolean => !PACKED.test(path) || /\.(?:test|fixture)\.|stale/u.test(path);
    expect(packages.flatMap(({ paths }) => [...paths].filter(isForeign))).toEqual([]);
  });

  it('packs the command with all the files that it reads', () => {
    const { paths } = packages.find(({ manifest }) => manifest.name === 'headgate') ?? { paths: new Set<string>() };
    const needed = ['bin.js', 'worker.js', 'page.html', 'page.mjs', 'page.css'].map((name) => `dist/command/${name}`);
    expect(needed.filter((path) => !paths.has(path))).toEqual([]);
  });

  it('packs what runs once it is installed in an empty folder', async ({ skip }) => {
    const install = ['npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
    const installed = await run([...install, '--prefix', folder, ...packages.map(({ file }) => file)]);
    if (/\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT)\b/u.test(installed.stderr)) return skip('no package registry can be reached');
    expect([installed.code, installed.stderr]).toEqual([0, '']);
    const command = join(folder, 'node_modules/.bin/headgate');
    const env = { PATH: process.env['PATH'] ?? '', HOME: folder };
    expect(await run([command, '--version'], { env, cwd: folder })).toEqual({
      code: 0,
      stdout: `${packages[0]?.manifest.version}\n`,
      stderr: '',
    });
    const { code, stdout, stderr } = await run([command, 'run', '--sandbox'], { env, cwd: folder });
    expect([code, stdout, stderr]).toEqual([0, '', expect.stringContaining('Done')]);

    for (const [name, file, schema] of FORMATS) {
      await writeFile(join(folder, file), schema);
      await writeFile(join(folder, 'headgate.yaml'), yamlWith(file));
      const described = async () => await run([command, 'schema', 'tracker.issues'], { env, cwd: folder });
      expect(await described()).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`${name} isn't installed. Run: npm install ${name}`),
      });
      expect((await run([...install, '--prefix', folder, name])).code).toBe(0);
      expect(await described()).toMatchObject({ code: 0, stdout: expect.stringContaining(file), stderr: '' });
    }
    await rm(join(folder, 'headgate.yaml'));

    const entries = JSON.stringify(exportedEntries(fileURLToPath(new URL('..', import.meta.url))));
    const esm = ['--input-type=module', '--eval', `for (const name of ${entries}) await import(name);`];
    const commonJs = ['--eval', `for (const name of ${entries}) require(name);`];
    await copyFile(fileURLToPath(new URL('outside/program.mjs', import.meta.url)), join(folder, 'program.mjs'));
    const bundle = join(folder, 'bundle');
    bundled(folder, bundle);
    for (const [cwd, args, said] of [
      [folder, esm, ''],
      [folder, commonJs, ''],
      [folder, ['program.mjs', 'ids.db'], '12345 ids, 0 left\n'],
      [bundle, ['program.js', 'ids.db'], '12345 ids, 0 left\n'],
    ] as const) {
      expect(await run([process.execPath, ...args], { env, cwd })).toEqual({ code: 0, stdout: said, stderr: '' });
    }

    const old = tooOldNode();
    if (old === undefined) return;
    const answer = await run([old.path, command, '--version'], { env, cwd: folder });
    expect(answer).toEqual({ code: 2, stdout: '', stderr: `headgate needs Node 22.19 or later; this is ${old.version}.\n` });
  });

  it('is not needed for a package to be built before it is packed', async () => {
    const auth = fileURLToPath(new URL('../packages/auth', import.meta.url));
    await rm(join(auth, 'dist'), { recursive: true });
    expect((await run(['pnpm', 'pack', '--pack-destination', join(folder, 'alone')], { cwd: auth })).code).toBe(0);
    const [name = ''] = await readdir(join(folder, 'alone'));
    expect(openTarball(join(folder, 'alone', name)).paths).toContain('dist/index.js');
  });

  it('names the folder where it was not told one', async () => {
    const { code, stderr } = await run([process.execPath, PACK]);
    expect([code, stderr]).toEqual([2, 'Name the folder that the tarballs go to: npm run pack -- DIR\n']);
  });
});

/** A Node in the PATH that is too old for the published packages, with its version; undefined if there is none. */
function tooOldNode(): { readonly path: string; readonly version: string } | undefined {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, 'node');
    const version = spawnSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8' }).stdout?.trim() ?? '';
    const [major = 0, minor = 0] = version.split('.').map(Number);
    if (version !== '' && (major < 22 || (major === 22 && minor < 19))) return { path, version };
  }
  return undefined;
}
