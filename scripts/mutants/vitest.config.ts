import { defineConfig } from 'vitest/config';

/** Tests of the mutated file's own package: a copy of the repository, in which other packages are the unbroken ones. */
export default defineConfig({
  ssr: { resolve: { conditions: ['@headgate/source'] } },
  test: {
    // Stryker itself ends what hangs, sooner as a rule; a busy machine must not look like a broken file.
    testTimeout: 600_000,
    include: ['{packages,apps}/*/src/**/*.test.ts'],
    exclude: ['**/{kafka,kafka-broker}/**', '**/sqlite/**', '**/e2e/**', '**/node_modules/**'],
  },
});
