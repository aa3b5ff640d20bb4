import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { publishedPackages } from './packages.ts';

/** Packages of the clone at `root` whose API has changed since the last release's tag, and that no changeset names. */
export function unnamedApiChanges(root: string): readonly string[] {
  const git = (...args: readonly string[]): string => spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout.trim();
  const packages = publishedPackages(root);
  const tag = git('describe', '--tags', '--abbrev=0', '--match', 'v*');
  // True before the first release, and during a release, when versions are already raised and changesets are used up.
  if (tag !== `v${packages[0]?.manifest.version}`) return [];
  const changed = new Set(
    git('diff', '--name-only', tag, '--', 'docs/api')
      .split('\n')
      .map((path) => path.split('/')[2]),
  );
  const changesets = join(root, '.changeset');
  const named = (existsSync(changesets) ? readdirSync(changesets) : [])
    .filter((name) => name.endsWith('.md'))
    .map((name) => readFileSync(join(changesets, name), 'utf8').split('\n---')[0] ?? '')
    .join('\n');
  return packages
    .map(({ manifest }) => manifest.name)
    .filter((name) => changed.has(name.replace('@headgate/', '')) && !new RegExp(`^['"]?${name}['"]?:`, 'mu').test(named));
}
