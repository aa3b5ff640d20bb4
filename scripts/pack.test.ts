import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from './run-command.fixture.ts';

const PACK = fileURLToPath(new URL('pack.mjs', import.meta.url));
const NAMES = [
  '@headgate/auth',
  '@headgate/operators',
  '@headgate/pipeline',
  '@headgate/sandbox',
  '@headgate/sources',
  '@headgate/throttle',
  '@headgate/topics',
  'headgate',
];

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly bin?: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly files: readonly string[];
  readonly engines: { readonly node: string };
}

interface Packed {
  readonly tarball: string;
  readonly manifest: Manifest;
  readonly manifestText: string;
  /** Paths in the package, as a manifest spells them. */
  readonly paths: ReadonlySet<string>;
}

describe('npm run pack', { timeout: 300_000 }, () => {
  let folder: string;
  let packages: readonly Packed[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headgate-pack-'));
    // As from another folder, whose relative paths are meant.
    const stale = fileURLToPath(new URL('../packages/auth/dist/stale.js', import.meta.url));
    await mkdir(dirname(stale), { recursive: true });
    await writeFile(stale, '');
    const { code, stderr } = await run([process.execPath, PACK, 'tarballs'], { env: { ...process.env, INIT_CWD: folder } });
    if (code !== 0) throw new Error(stderr);
    const tarballs = (await readdir(join(folder, 'tarballs'))).map((name) => join(folder, 'tarballs', name));
    packages = (await Promise.all(tarballs.map(opened))).toSorted((one, other) => (one.manifest.name < other.manifest.name ? -1 : 1));
  }, 300_000);
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('packs every package and the app', () => {
    expect(packages.map(({ manifest }) => manifest.name)).toEqual(NAMES);
  });

  it('packs all that exports and bin name, from what is released, and the changelog', () => {
    for (const { manifest, manifestText, paths } of packages) {
      const targets = Object.values(manifest.exports).flatMap((target) => (typeof target === 'string' ? target : Object.values(target)));
      expect(targets.length).toBeGreaterThan(3);
      const missing = [...targets, ...Object.values(manifest.bin ?? {})].filter((path) => !paths.has(path));
      const unreleased = manifestText.match(/"(?:workspace|catalog):[^"]*"/gu) ?? [];
      expect({ name: manifest.name, missing, unreleased }).toEqual({ name: manifest.name, missing: [], unreleased: [] });
      expect(manifest.files).toContain('CHANGELOG.md');
    }
  });

  it('packs what is used and its sources: no test, no fixture, nothing of an earlier build', () => {
    for (const { manifest, paths } of packages) {
      const strange = [...paths].filter(
        (path) => !/^\.\/(?:package\.json|README\.md|CHANGELOG\.md|LICENSE|(?:src|dist)\/[\w./-]+)$/u.test(path),
      );
      const ofTests = [...paths].filter((path) => /\.(?:test|fixture)\.|\/\.[\w-]/u.test(path));
      const sourceless = [...paths].filter(
        (path) => path.endsWith('.js') && !paths.has(path.replace('/dist/', '/src/').replace(/js$/u, 'ts')),
      );
      expect({ name: manifest.name, strange, ofTests, sourceless }).toEqual({
        name: manifest.name,
        strange: [],
        ofTests: [],
        sourceless: [],
      });
    }
  });

  it('packs the script and the style of the status page beside the module that reads them', () => {
    const { paths } = packages.find(({ manifest }) => manifest.name === 'headgate') ?? { paths: new Set<string>() };
    const needed = ['status-page.js', 'page.mjs', 'page.css'].map((name) => `./dist/status/page/${name}`);
    expect(needed.filter((path) => !paths.has(path))).toEqual([]);
  });

  it('packs what runs once it is installed in an empty folder', async ({ skip }) => {
    const install = ['npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
    const installed = await run([...install, '--prefix', folder, ...packages.map(({ tarball }) => tarball)]);
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

    const importAll = packages.flatMap(({ manifest }) => Object.keys(manifest.exports).map((path) => join(manifest.name, path)));
    const script = `for (const name of ${JSON.stringify(importAll)}) await import(name, name.endsWith('json') ? { with: { type: 'json' } } : {});`;
    expect(await run([process.execPath, '--input-type=module', '--eval', script], { env, cwd: folder })).toEqual({
      code: 0,
      stdout: '',
      stderr: '',
    });

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
    expect((await opened(join(folder, 'alone', name))).paths).toContain('./dist/index.js');
  });

  it('names the folder where it was not told one', async () => {
    const { code, stderr } = await run([process.execPath, PACK]);
    expect([code, stderr]).toEqual([2, 'Name the folder that the tarballs go to: npm run pack -- DIR\n']);
  });
});

async function opened(tarball: string): Promise<Packed> {
  const [manifestText, listing] = await Promise.all([
    run(['tar', '-xzOf', tarball, 'package/package.json']),
    run(['tar', '-tzf', tarball]),
  ]);
  const paths = new Set(
    listing.stdout
      .trim()
      .replaceAll(/^package\//gmu, './')
      .split('\n'),
  );
  return { tarball, manifest: JSON.parse(manifestText.stdout) as Manifest, manifestText: manifestText.stdout, paths };
}

/** The machine's own Node, where bootstrap.mjs had to bring a newer one. */
function tooOldNode(): { readonly path: string; readonly version: string } | undefined {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, 'node');
    const version = spawnSync(path, ['-p', 'process.versions.node'], { encoding: 'utf8' }).stdout?.trim() ?? '';
    const [major = 0, minor = 0] = version.split('.').map(Number);
    if (version !== '' && (major < 22 || (major === 22 && minor < 19))) return { path, version };
  }
  return undefined;
}
