import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { startRegistry } from './outside/registry.ts';
import changelog from './release/changelog.ts';
import { type Manifest, publishedPackages } from './release/packages.ts';
import { run } from './run.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

it('writes changes alone into a changelog, not which other package was lifted', async () => {
  expect(await changelog.getReleaseLine({ summary: 'One.\n\nTwo\nlines.\n' })).toBe('- One.\n\n  Two\n  lines.');
  expect(await changelog.getDependencyReleaseLine()).toBe('');
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
  const names = publishedPackages(clone).map(({ manifest }) => manifest.name);
  const npm = async (script: string): Promise<void> => {
    const { code, stdout, stderr } = await run(['npm', 'run', '--silent', script], { cwd: clone, env });
    expect(code, stdout + stderr).toBe(0);
  };
  writeFileSync(join(clone, '.changeset/one.md'), `---\n'${names[0]}': minor\n---\n\nOne thing more.\n`);
  await npm('release:version');
  git('commit', '--quiet', '--all', '--message', 'Release');

  await npm('release');
  for (const name of names) {
    const target = join(folder, 'published', name);
    mkdirSync(target, { recursive: true });
    expect((await run(['npm', 'pack', `${name}@latest`, '--pack-destination', target], { cwd: folder, env })).code).toBe(0);
    const file = join(target, readdirSync(target)[0] ?? '');
    const read = (path: string): string => execFileSync('tar', ['-xzOf', file, `package/${path}`], { encoding: 'utf8' });
    const { version, dependencies = {} } = JSON.parse(read('package.json')) as Manifest;
    expect(git('tag').split('\n')).toContain(`${name}@${version}`);
    expect(Object.entries(dependencies).filter(([, range]) => !/^[\d^~]/u.test(range))).toEqual([]);
    expect(read('CHANGELOG.md')).toMatch(new RegExp(`^# ${name}\n\n## ${version}\n\n(?:\\w|##)`, 'u'));
  }
  // As if the release had broken off before its last package. npm refuses to publish a version twice, so only the missing one is published.
  const last = names.at(-1) ?? '';
  expect((await run(['npm', 'unpublish', '--force', last], { cwd: folder, env })).code).toBe(0);
  await npm('release');
  expect((await run(['npm', 'view', last, 'version'], { cwd: folder, env })).code).toBe(0);
  expect(git('status', '--porcelain')).toBe('');
});
