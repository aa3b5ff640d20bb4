// Runs the long versions of tests, such as those with kills, faults or random inputs. `npm test` and `npm run test:faults` run samples of them.
//   npm run torture [-- vitest arguments…]      with arguments, runs only the tests that they name
import { spawnSync } from 'node:child_process';

const given = process.argv.slice(2);
const all = ['apps/pipeline/src/e2e', 'apps/pipeline/src/config/rest-mistakes.test.ts', 'packages/rest/src', 'packages/topics/src/kafka'];

// Tests write users' modules, which import the build output.
run('turbo', ['run', 'build', '--output-logs=errors-only', '--log-order=grouped']);
run('vitest', ['run', ...(given.length > 0 ? given : all)]);

function run(command, args) {
  const env = { ...process.env, HEADGATE_TORTURE: '1' };
  const { status } = spawnSync(command, args, { stdio: 'inherit', env });
  if (status !== 0) process.exit(status ?? 1);
}
