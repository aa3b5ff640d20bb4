import { defineConfig } from 'vitest/config';

/** Runs the tests of the mutated file's own package. In Stryker's copy of the repository, other packages resolve to the originals. */
export default defineConfig({
  ssr: { resolve: { conditions: ['@headgate/source'] } },
  test: {
    // Stryker ends hanging tests itself, usually sooner. A busy machine must not look like a broken file.
    testTimeout: 600_000,
    include: ['{packages,apps}/*/src/**/*.test.ts'],
    exclude: ['**/{kafka,kafka-broker}/**', '**/sqlite/**', '**/e2e/**', '**/node_modules/**'],
  },
});
