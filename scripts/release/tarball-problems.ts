import { execFileSync } from 'node:child_process';
import type { Manifest } from './packages.ts';

export interface Tarball {
  readonly file: string;
  readonly manifest: Manifest;
  /** Paths in the package, in the form that a manifest uses. */
  readonly paths: ReadonlySet<string>;
  readonly read: (path: string) => string;
}

/** Dependencies with a narrow range, because newer versions may not work. ARCHITECTURE.md has the reasons. */
const NARROW: ReadonlyMap<string, { readonly spelled: RegExp; readonly words: string }> = new Map([
  ['kafkajs', { spelled: /^\d/u, words: 'an exact version' }],
  ['undici', { spelled: /^\d/u, words: 'an exact version' }],
  ['@opentelemetry/api', { spelled: /^~/u, words: 'a range with ~' }],
]);
const WIDE = { spelled: /^\^/u, words: 'a range with ^' };
const PACKED = /^\.\/(?:package\.json|README\.md|CHANGELOG\.md|LICENSE|(?:src|dist)\/[\w./-]+)$/u;

export function openTarball(file: string): Tarball {
  const read = (path: string): string => tar('-xzOf', file, path.replace(/^\./u, 'package'));
  const paths = new Set(
    tar('-tzf', file)
      .trim()
      .replaceAll(/^package\//gmu, './')
      .split('\n'),
  );
  return { file, manifest: JSON.parse(read('./package.json')) as Manifest, paths, read };
}

/** Sentences about what keeps a package from being published. */
export function tarballProblems({ manifest, paths, read }: Tarball): readonly string[] {
  const { keywords = [], homepage, bugs, license, repository, engines, dependencies = {} } = manifest;
  const targets = Object.values(manifest.exports).flatMap((target) => (typeof target === 'string' ? target : Object.values(target)));
  const needed = [...targets, ...Object.values(manifest.bin ?? {}), './README.md', './LICENSE', './CHANGELOG.md'];
  const stated = {
    keywords: keywords[0],
    homepage,
    'bugs.url': bugs?.url,
    license,
    'repository.directory': repository?.directory,
    'engines.node': engines?.node,
  };
  const all = [...paths];
  const sourceOf = (path: string): string => path.replace('/dist/', '/src/').replace(/js$/u, 'ts');
  return [
    ...needed.filter((path) => !paths.has(path)).map((path) => `${path} is missing.`),
    ...Object.entries(stated)
      .filter(([, value]) => value === undefined)
      .map(([name]) => `package.json has no ${name}.`),
    ...Object.entries(dependencies).flatMap(([name, range]) => {
      const { spelled, words } = NARROW.get(name) ?? WIDE;
      return spelled.test(range) ? [] : [`package.json depends on ${name} ${range}: ${words} is due.`];
    }),
    ...all.filter((path) => !PACKED.test(path)).map((path) => `${path} is nothing that a package has.`),
    ...all.filter((path) => /\.(?:test|fixture)\.|\/\.[\w-]/u.test(path)).map((path) => `${path} belongs to the tests.`),
    ...all
      .filter((path) => path.endsWith('.js') && !path.startsWith('./dist/command/') && !paths.has(sourceOf(path)))
      .map((path) => `${path} has no source: an earlier build left it.`),
    ...(paths.has('./CHANGELOG.md') && !read('./CHANGELOG.md').includes(`\n## ${manifest.version}\n`)
      ? [`./CHANGELOG.md says nothing of ${manifest.version}.`]
      : []),
  ];
}

function tar(...args: readonly string[]): string {
  return execFileSync('tar', args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
}
