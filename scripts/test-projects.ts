import { globSync, readFileSync } from 'node:fs';

const TESTS = '{packages,apps}/*/src/**/*.test.ts';
const EXAMPLES = 'examples/*/**/*.test.ts';
const REPOSITORY = 'scripts/*.test.ts';

/** A test that rebuilds all packages, so no other test may use the build output at the same time. */
const PACK = ['scripts/pack.test.ts'];
/** Tests of the scripts and of published packages, tests that follow a document, and tests that open the status page in a browser. */
const PACKAGES = [
  REPOSITORY,
  'apps/pipeline/src/e2e/documents/*.test.ts',
  'apps/pipeline/src/**/in-chromium.test.ts',
  'apps/pipeline/src/e2e/{loaded-modules,kafka/consuming}.test.ts',
];
/** Tests with real processes, and with files on disk. */
const EMBEDDED = [
  'apps/pipeline/src/{bin,e2e/**/*}.test.ts',
  'packages/topics/src/sqlite/**/*.test.ts',
  'packages/throttle/src/budget/file-journal/*.test.ts',
  'packages/sandbox/src/kafka-broker/*.test.ts',
  EXAMPLES,
];

const SHARES_BROKER = /inject\('kafkaBroker'\)/;
/** Matches a test file that starts brokers, directly or with a fixture. */
const STARTS_BROKER = /@headgate\/sandbox\/kafka-broker'|\.\/kafka-broker\.ts'|\/kafka-place\.fixture\.ts'/;
const FIGURE = /\.figure\.test\.ts$/;

export type Project = 'unit' | 'embedded' | 'kafka' | 'faults' | 'packages' | 'pack' | 'figures';

/** The test files of each project. The text of a file shows whether it needs a broker, so no list has to be maintained. */
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
