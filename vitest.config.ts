import { defineConfig } from 'vitest/config';
import EvenlyMixed from './scripts/evenly-mixed.ts';

const TORTURE = process.env['HEADGATE_TORTURE'] === '1';
const TESTS = '{packages,apps}/*/src/**/*.test.ts';
const EXAMPLES = 'examples/*/*.test.ts';
/** Whatever a driver's or a sandbox's folder is called by: all that starts brokers lies in one. */
const KAFKA = '**/{kafka,kafka-broker}/**/*.test.ts';
/** Builds all packages anew, while nothing else may run what is built. */
const PACK = 'scripts/pack.test.ts';
/** Processes of the real command and of a browser, files on disk, and the repository's own scripts. */
const EMBEDDED = [
  'apps/pipeline/src/{e2e/**/*,**/in-chromium}.test.ts',
  'packages/topics/src/sqlite/**/*.test.ts',
  'scripts/*.test.ts',
  EXAMPLES,
];
/** They replace a module of Node's, or measure the memory of their process. */
const ALONE = ['packages/throttle/src/budget/file-journal/*.test.ts', 'packages/operators/src/crawl-changes.test.ts'];

/** After those that wait, and no more at once than the cores need. */
const COMPUTING = { maxWorkers: 3, sequence: { groupOrder: 1 } };

const COMMAND = './scripts/command-under-test.ts';

export default defineConfig({
  // Workspace packages are tested from their source; only this place of the condition reaches them.
  ssr: { resolve: { conditions: ['@headgate/source'] } },
  test: {
    // Only what hangs takes so long, on the slowest machine. Tests set no shorter limits of their own: those tell of the machine.
    testTimeout: TORTURE ? 3_600_000 : 600_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 60_000 } },
    // Most tests wait most of their time: for brokers and processes to start, and for sessions and windows to end. Eight keep two cores busy.
    maxWorkers: 8,
    sequence: { sequencer: EvenlyMixed },
    reporters: ['default', './scripts/totals-reporter.ts'],
    coverage: { provider: 'v8', include: ['packages/*/src/**', 'apps/*/src/**'] },
    projects: [
      { extends: true, test: { name: 'embedded', include: EMBEDDED, exclude: [KAFKA, PACK], globalSetup: COMMAND } },
      { extends: true, test: { name: 'kafka', include: [KAFKA], exclude: ['**/node_modules/**'], globalSetup: COMMAND } },
      {
        extends: true,
        test: {
          name: 'unit',
          include: [TESTS],
          exclude: [KAFKA, ...EMBEDDED, ...ALONE, '**/node_modules/**'],
          // One process for many files: to load the modules for each was a third of their CPU.
          isolate: false,
          ...COMPUTING,
        },
      },
      { extends: true, test: { name: 'alone', include: ALONE, ...COMPUTING } },
      { extends: true, test: { name: 'pack', include: [PACK], ...COMPUTING } },
    ],
  },
});
