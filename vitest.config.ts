import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import EvenlyMixed from './scripts/evenly-mixed.ts';
import { type Project, testFiles } from './scripts/test-projects.ts';

const TORTURE = process.env['HEADGATE_TORTURE'] === '1';
const FILES = testFiles(fileURLToPath(new URL('.', import.meta.url)));
const COMMAND = './scripts/command-under-test.ts';
const BROKER = './scripts/kafka-broker-under-test.ts';
const MINUTE = 60_000;

/** Limits that only a hanging test reaches, even on a slow machine. */
const limits = (minutes: number) => ({
  testTimeout: TORTURE ? 60 * MINUTE : minutes * MINUTE,
  hookTimeout: 5 * MINUTE,
});

/**
 * Node loads the sources itself, because code that vite has transformed is slower: it looks up each import at each use. Tests with this
 * setting can't replace a module.
 */
const NATIVE = { experimental: { viteModuleRunner: false, nodeLoader: false }, execArgv: ['--conditions=@headgate/source'] };

/** Files share processes, so that a process loads each module only once. */
const SHARED = { isolate: false };

/** For tests that compute all the time. They start after those that wait, in at most three processes. */
const COMPUTING = { maxWorkers: 3, sequence: { groupOrder: 1 } };

const project = (name: Project, test: object) => ({ extends: true as const, test: { name, include: FILES[name], ...test } });

export default defineConfig({
  // Resolves workspace packages to their source.
  ssr: { resolve: { conditions: ['@headgate/source'] } },
  test: {
    expect: { poll: { timeout: 4 * MINUTE } },
    // Errors must show whole values, because a test that fails only once, on another machine, can't be examined again.
    chaiConfig: { truncateThreshold: 4_000 },
    env: { TZ: 'UTC' },
    // More than most machines have cores, because most tests mainly wait, for example for brokers and processes to start.
    maxWorkers: 8,
    // On a busy machine, a process can take a long time to end.
    teardownTimeout: MINUTE,
    sequence: { sequencer: EvenlyMixed },
    reporters: ['default', './scripts/totals-reporter.ts'],
    coverage: { provider: 'v8', include: ['packages/*/src/**', 'apps/*/src/**'] },
    projects: [
      project('unit', { ...limits(5), ...NATIVE, ...SHARED, ...COMPUTING }),
      project('embedded', { ...limits(10), ...NATIVE, ...SHARED, globalSetup: COMMAND }),
      project('kafka', { ...limits(10), globalSetup: [COMMAND, BROKER] }),
      project('faults', { ...limits(10), globalSetup: COMMAND }),
      project('packages', { ...limits(10), globalSetup: [COMMAND] }),
      project('pack', { ...limits(10), ...COMPUTING }),
      project('figures', { ...limits(10), globalSetup: COMMAND, maxWorkers: 1, sequence: { groupOrder: 2 } }),
    ],
  },
});
