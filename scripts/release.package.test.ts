import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { startRegistry } from './outside/registry.ts';
import changelog from './release/changelog.ts';
import { publishedPackages } from './release/packages.ts';
import { openTarball } from './release/tarball-problems.ts';
import { unnamedApiChanges } from './release/unnamed-api-changes.ts';
import { run } from './run-command.fixture.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const RELEASE = fileURLToPath(new URL('release.ts', import.meta.url));

it('publishes nothing that was not tested', async () => {
  expect(await run([process.execPath, RELEASE, '--publish', '--no-test'])).toEqual({
    code: 2,
    stdout: '',
    stderr: 'What is published is tested before: --no-test goes with a dry run alone.\n',
  });
});

it('names an option that it does not know', async () => {
  const { code, stderr } = await run([process.execPath, RELEASE, '--publsh']);
  expect([code, stderr]).toEqual([2, expect.stringContaining("Unknown option '--publsh'")]);
});

it('publishes each package after those that it depends on', () => {
  const packages = publishedPackages(ROOT);
  const names = packages.map(({ manifest }) => manifest.name);
  expect(names).toHaveLength(9);
  for (const [index, { manifest }] of packages.entries()) {
    const own = Object.keys(manifest.dependencies ?? {}).filter((name) => names.includes(name));
    expect(names.slice(0, index)).toEqual(expect.arrayContaining(own));
  }
});

it('writes changes alone into a changelog, not which other package was lifted', async () => {
  expect(await changelog.getReleaseLine({ summary: 'One.\n\nTwo\nlines.\n' })).toBe('- One.\n\n  Two\n  lines.');
  expect(await changelog.getDependencyReleaseLine()).toBe('');
});

it('asks for a changeset where an API has changed since the last release', () => {
  const root = mkdtempSync(join(tmpdir(), 'headgate-api-change-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  const git = (...args: readonly string[]): unknown =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@localhost', ...args], { cwd: root, stdio: 'ignore' });
  write('apps/a/package.json', '{ "name": "headgate", "version": "1.0.0" }');
  write('packages/b/package.json', '{ "name": "@headgate/b", "version": "1.0.0" }');
  write('docs/api/b/index.api.md', 'one');
  git('init');
  git('add', '.');
  git('commit', '--message', 'one');
  write('docs/api/b/index.api.md', 'two');
  expect(unnamedApiChanges(root)).toEqual([]);
  git('tag', 'v1.0.0');
  expect(unnamedApiChanges(root)).toEqual(['@headgate/b']);
  write('.changeset/c.md', "---\n'headgate': minor\n---\n\n@headgate/b: no\n");
  expect(unnamedApiChanges(root)).toEqual(['@headgate/b']);
  write('.changeset/c.md', "---\n'@headgate/b': minor\n---\n\nMore.\n");
  expect(unnamedApiChanges(root)).toEqual([]);
});

it('publishes each package once, with its changelog', async ({ skip }) => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-registry-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const registry = await startRegistry(folder).catch((error: unknown) => {
    if (/\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT)\b/u.test(String(error))) return undefined;
    throw error;
  });
  if (registry === undefined) return skip('no package registry can be reached');
  onTestFinished(registry.close);
  const clone = join(folder, 'clone');
  const env = { ...process.env, ...registry.env };
  const git = (...args: readonly string[]): string => execFileSync('git', args, { cwd: clone, encoding: 'utf8' }).trim();
  execFileSync('git', ['clone', '--quiet', ROOT, clone]);
  git('config', 'user.name', 'a');
  git('config', 'user.email', 'a@localhost');
  // The release skips the tests of its clone, because they include this test.
  writeFileSync(join(clone, '.ci/run'), '');
  git('commit', '--quiet', '--all', '--message', 'Test nothing');
  const packages = publishedPackages(clone).map(({ manifest }) => manifest.name);
  const release = async () => await run([process.execPath, join(clone, 'scripts/release.ts'), '--publish'], { cwd: clone, env });

  const first = await release();
  expect([first.code, first.stdout], first.stderr).toEqual([
    0,
    expect.stringMatching(/^(?:\S+ \d+\.\d+\.\d+ is published\.\n){9}Commit and tag/u),
  ]);
  const [tag = ''] = git('tag').split('\n');
  const version = tag.slice(1);
  for (const name of packages) {
    const target = join(folder, 'published', name);
    mkdirSync(target, { recursive: true });
    expect((await run(['npm', 'pack', `${name}@latest`, '--pack-destination', target], { cwd: folder, env })).code).toBe(0);
    const tarball = openTarball(join(target, readdirSync(target)[0] ?? ''));
    expect(tarball.manifest.version).toBe(version);
    expect(tarball.read('./CHANGELOG.md')).toMatch(new RegExp(`^# ${name}\n\n## ${version}\n\n(?:\\w|##)`, 'u'));
  }
  // npm refuses to publish a version twice, so this succeeds only if nothing is published again.
  expect((await release()).code).toBe(0);
  expect(git('tag')).toBe(tag);
});
