import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import changelog from './release/changelog.ts';
import { publishedPackages } from './release/packages.ts';
import { unnamedApiChanges } from './release/unnamed-api-changes.ts';
import { run } from './run-command.fixture.ts';

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
  const packages = publishedPackages(fileURLToPath(new URL('..', import.meta.url)));
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
