import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import EvenlyMixed from './scripts/evenly-mixed.ts';
import { type Project, testFiles } from './scripts/test-projects.ts';

const TORTURE = process.env['HEADGATE_TORTURE'] === '1';
const FILES = testFiles(fileURLToPath(new URL('.', import.meta.url)));
const COMMAND = './scripts/command-under-test.ts';
const BROKER = './scripts/kafka-broker-under-test.ts';
const MINUTE = 60_000;

/** Only what hangs takes so long, on the slowest machine. Tests set no shorter limits of their own: those tell of the machine. */
const limits = (minutes: number) => ({
  testTimeout: TORTURE ? 60 * MINUTE : minutes * MINUTE,
  hookTimeout: 5 * MINUTE,
});

/**
 * Node loads the sources itself, as it does those of the command: what vite makes of a module looks up each import at each use, and took a third of
 * the CPU. It can't replace a module.
 */
const NATIVE = { experimental: { viteModuleRunner: false, nodeLoader: false }, execArgv: ['--conditions=@headgate/source'] };

/** One process for many files: to load the modules for each was a third of their CPU. */
const SHARED = { isolate: false };

/** After those that wait, and no more at once than the cores need. */
const COMPUTING = { maxWorkers: 3, sequence: { groupOrder: 1 } };

const project = (name: Project, test: object) => ({ extends: true as const, test: { name, include: FILES[name], ...test } });

export default defineConfig({
  // Workspace packages are tested from their source; only this place of the condition reaches them.
  ssr: { resolve: { conditions: ['@headgate/source'] } },
  test: {
    expect: { poll: { timeout: MINUTE } },
    // The error of a test that is red once, on a machine that is gone, must show what the test saw.
    chaiConfig: { truncateThreshold: 4_000 },
    env: { TZ: 'UTC' },
    // Most tests wait most of their time: for brokers and processes to start, and for sessions and windows to end. Eight keep two cores busy.
    maxWorkers: 8,
    // A process that shares a busy machine ends in its own time.
    teardownTimeout: MINUTE,
    sequence: { sequencer: EvenlyMixed },
    reporters: ['default', './scripts/totals-reporter.ts'],
    coverage: { provider: 'v8', include: ['packages/*/src/**', 'apps/*/src/**'] },
    projects: [
      project('unit', { ...limits(3), ...NATIVE, ...SHARED, ...COMPUTING }),
      project('embedded', { ...limits(10), ...NATIVE, ...SHARED, globalSetup: COMMAND }),
      project('kafka', { ...limits(5), globalSetup: [COMMAND, BROKER] }),
      project('faults', { ...limits(10), globalSetup: COMMAND }),
      project('packages', { ...limits(10), globalSetup: [COMMAND] }),
      project('pack', { ...limits(10), ...COMPUTING }),
      project('figures', { ...limits(10), globalSetup: COMMAND, maxWorkers: 1, sequence: { groupOrder: 2 } }),
    ],
  },
});
