// npm run mutants -- packages/throttle/src/pages/drain.ts      changes the file in many places, and shows which changes no test notices
/** Leaves out texts that are passed to a constructor, usually messages of errors, because a test of their wording would only repeat it. */
const wording = {
  shouldIgnore({ node, parentPath }) {
    const isText = node.type === 'StringLiteral' || node.type === 'TemplateLiteral';
    if (isText && parentPath.isNewExpression()) return 'the wording of an error';
  },
};

export const strykerPlugins = [{ kind: 'Ignore', name: 'wording', value: wording }];

export default {
  plugins: ['@stryker-mutator/vitest-runner', import.meta.filename],
  ignorers: ['wording'],
  testRunner: 'vitest',
  vitest: { configFile: 'scripts/mutants/vitest.config.ts', pool: 'forks' },
  coverageAnalysis: 'perTest',
  // On a busy machine, the first run of the tests can take long.
  dryRunTimeoutMinutes: 60,
  concurrency: 1,
  reporters: ['clear-text', 'json'],
  jsonReporter: { fileName: '.stryker/report.json' },
  tempDirName: '.stryker/tmp',
  ignorePatterns: ['.tools', 'dist'],
  clearTextReporter: { reportTests: false },
  // Otherwise Stryker would rewrite tsconfig.json through an API that TypeScript 7 no longer has.
  tsconfigFile: 'none',
};
