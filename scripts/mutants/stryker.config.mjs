// npm run mutants -- packages/throttle/src/pages/drain.ts      breaks the file in each of its places and shows which breaks no test sees
/** Leaves out messages of errors: a test of their wording would only repeat them. */
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
  concurrency: 1,
  reporters: ['clear-text', 'json'],
  jsonReporter: { fileName: '.stryker/report.json' },
  tempDirName: '.stryker/tmp',
  ignorePatterns: ['.tools', 'dist'],
  clearTextReporter: { reportTests: false },
  // Stryker rewrites this file through an API that TypeScript 7 has no more; it needs none.
  tsconfigFile: 'none',
};
