import { defineConfig } from 'vitest/config';

/** Tests of the mutated file's own package: a copy of the repository, in which other packages are the unbroken ones. */
export default defineConfig({
  ssr: { resolve: { conditions: ['@headgate/source'] } },
  test: {
    // A broken file mostly hangs a test: waiting for it is most of a run.
    testTimeout: 5_000,
    include: ['{packages,apps}/*/src/**/*.test.ts'],
    exclude: ['**/{kafka,kafka-broker}/**', '**/sqlite/**', '**/e2e/**', '**/node_modules/**'],
  },
});
