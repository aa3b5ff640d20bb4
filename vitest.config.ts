import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Workspace packages are tested from their source; only this place of the condition reaches them.
  ssr: { resolve: { conditions: ['@headgate/source'] } },
  test: {
    include: ['{packages,apps}/*/src/**/*.test.ts', 'scripts/*.test.ts'],
    testTimeout: 30_000,
    // Most tests wait for brokers and servers: on two cores one at a time would take twice as long.
    maxWorkers: 2,
    reporters: ['default', './scripts/totals-reporter.ts'],
    coverage: { provider: 'v8', include: ['packages/*/src/**', 'apps/*/src/**'] },
  },
});
