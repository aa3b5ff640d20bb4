import { globSync, readFileSync } from 'node:fs';

const TESTS = '{packages,apps}/*/src/**/*.test.ts';
const EXAMPLES = 'examples/*/**/*.test.ts';
const REPOSITORY = 'scripts/*.test.ts';

/** Builds all packages anew, while nothing else may run what is built. */
const PACK = ['scripts/pack.test.ts'];
/** Installs or bundles what is published, follows a document to the letter, or opens the page in a browser. */
const PACKAGES = [
  REPOSITORY,
  'apps/pipeline/src/e2e/documents/*.test.ts',
  'apps/pipeline/src/**/in-chromium.test.ts',
  'apps/pipeline/src/e2e/{loaded-modules,kafka/consuming}.test.ts',
];
/** Real processes, and files on disk. */
const EMBEDDED = [
  'apps/pipeline/src/{bin,e2e/**/*}.test.ts',
  'packages/topics/src/sqlite/**/*.test.ts',
  'packages/throttle/src/budget/file-journal/*.test.ts',
  'packages/sandbox/src/kafka-broker/*.test.ts',
  EXAMPLES,
];

/** It asks for the one broker that `kafka` has. */
const SHARES_BROKER = /inject\('kafkaBroker'\)/;
/** It starts brokers, by itself or by a fixture. */
const STARTS_BROKER = /@headgate\/sandbox\/kafka-broker'|\.\/kafka-broker\.ts'|\/kafka-place\.fixture\.ts'/;
/** It measures the machine. */
const FIGURE = /\.figure\.test\.ts$/;

export type Project = 'unit' | 'embedded' | 'kafka' | 'faults' | 'packages' | 'pack' | 'figures';

/** The test files of each project. What a file imports says whether it needs a broker, so that none has to be listed or moved for it. */
export function testFiles(root: string): Readonly<Record<Project, string[]>> {
  const found = (patterns: readonly string[]): ReadonlySet<string> =>
    new Set(globSync([...patterns], { cwd: root, exclude: ['**/node_modules/**'] }));
  const [pack, packages, embedded] = [PACK, PACKAGES, EMBEDDED].map(found);
  const projects: Record<Project, string[]> = {
    unit: [],
    embedded: [],
    kafka: [],
    faults: [],
    packages: [],
    pack: [],
    figures: [],
  };
  for (const file of found([TESTS, EXAMPLES, REPOSITORY])) {
    const text = readFileSync(`${root}/${file}`, 'utf8');
    const project = (): Project => {
      if (FIGURE.test(file)) return 'figures';
      if (pack?.has(file)) return 'pack';
      if (packages?.has(file)) return 'packages';
      if (SHARES_BROKER.test(text)) return 'kafka';
      if (STARTS_BROKER.test(text)) return 'faults';
      return embedded?.has(file) ? 'embedded' : 'unit';
    };
    projects[project()].push(file);
  }
  return projects;
}
