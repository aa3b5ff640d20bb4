import { accessSync, constants, statfsSync } from 'node:fs';
import { configDefaults, defineConfig } from 'vitest/config';
import TotalsReporter from './scripts/totals-reporter.ts';

const TORTURE = process.env['HEADGATE_TORTURE'] === '1';
const COMMAND = './scripts/command-under-test.ts';
const BROKER = './scripts/kafka-broker-under-test.ts';
const MINUTE = 60_000;

/** Limits that only a hanging test reaches, even on a slow machine. */
const LIMITS = { testTimeout: TORTURE ? 60 * MINUTE : 10 * MINUTE, hookTimeout: 5 * MINUTE };

/**
 * Node loads the sources itself. Code that vite has transformed is slower, because it looks up each import at each use, and vite finds nothing
 * in a folder with a `#` in its path. Tests can't replace a module.
 */
const NATIVE = { experimental: { viteModuleRunner: false, nodeLoader: false }, execArgv: ['--conditions=@headgate/source'] };

/** More workers than cores, because tests also wait. */
const WORKERS = { maxWorkers: 5 };
/** Most of these tests only wait, for example for brokers and processes to start. */
const WAITING = { maxWorkers: 8, sequence: { groupOrder: 1 } };

/** Files share processes and the threads of their logs, so that a process loads each module only once. */
const SHARED = {
  ...WORKERS,
  isolate: false,
  execArgv: [...NATIVE.execArgv, `--import=${new URL('./scripts/reused-threads.ts', import.meta.url).href}`],
};

/** Temporary files of these tests are in memory, because the embedded log syncs its file at each commit. */
const IN_MEMORY = { env: memoryFolder() };

/** Tests that may start the command. What else a test needs, the ending of its name says. */
const EMBEDDED = ['apps/pipeline/src/{bin,e2e/**/*}.test.ts', 'examples/issues/app.test.ts'];
const ENDINGS = ['**/*.{docs,broker,faults,package,pack,figure}.test.ts'];

const ending = (name: string, test: object) => project(name, [`**/*.${name}.test.ts`], [], test);

/** Linux's folder in memory, if TMPDIR isn't set, this user can write to the folder, and it has 2 GiB left. */
function memoryFolder(): { readonly TMPDIR?: string } {
  const folder = '/dev/shm';
  try {
    accessSync(folder, constants.W_OK);
    const { bavail, bsize } = statfsSync(folder);
    return process.env['TMPDIR'] === undefined && bavail * bsize > 2 * 1024 ** 3 ? { TMPDIR: folder } : {};
  } catch {
    return {};
  }
}

function project(name: string, include: string[], exclude: string[], test: object) {
  return {
    extends: true as const,
    test: { name, include, exclude: [...configDefaults.exclude, '**/{dist,.stryker}/**', ...exclude], ...test },
  };
}

export default defineConfig({
  // Resolves workspace packages to their source.
  ssr: { resolve: { conditions: ['@headgate/source'] } },
  test: {
    ...LIMITS,
    ...NATIVE,
    expect: { poll: { timeout: 4 * MINUTE } },
    // Errors must show whole values, because a test that fails only once, on another machine, can't be examined again.
    chaiConfig: { truncateThreshold: 4_000 },
    // Java finds files whose path has letters beyond ASCII only in such a locale.
    env: { TZ: 'UTC', LC_ALL: 'C.UTF-8' },
    // On a busy machine, a process can take a long time to end.
    teardownTimeout: MINUTE,
    reporters: ['default', new TotalsReporter()],
    coverage: { provider: 'v8', include: ['packages/*/src/**', 'apps/*/src/**'] },
    projects: [
      project('unit', ['**/*.test.ts'], [...EMBEDDED, ...ENDINGS], { ...SHARED, ...IN_MEMORY }),
      project('embedded', EMBEDDED, ENDINGS, { ...SHARED, ...IN_MEMORY, globalSetup: COMMAND }),
      // Reads documents or other files outside of its package.
      ending('docs', { ...SHARED, ...IN_MEMORY, globalSetup: COMMAND, testTimeout: 3 * LIMITS.testTimeout }),
      // Takes the broker that all tests share.
      ending('broker', { ...WORKERS, globalSetup: [COMMAND, BROKER] }),
      // Starts brokers, and kills, freezes or configures them.
      ending('faults', { ...WAITING, globalSetup: COMMAND }),
      // Looks at packages, bundles and documents as users get them.
      ending('package', { ...WAITING, globalSetup: COMMAND }),
      // Rebuilds all packages, so no other test may use the build output at the same time.
      ending('pack', { sequence: { groupOrder: 2 } }),
      // Measures time, CPU or memory.
      ending('figure', { globalSetup: COMMAND, maxWorkers: 1, sequence: { groupOrder: 3 } }),
    ],
  },
});
