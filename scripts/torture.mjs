// The long soaks: every kill, every window at full length. `npm test` and `npm run test:faults` run samples of each.
//   npm run torture [-- vitest arguments…]      with arguments only the tests they name run
import { spawnSync } from 'node:child_process';

const given = process.argv.slice(2);
const all = ['apps/pipeline/src/e2e', 'apps/pipeline/src/config/rest-mistakes.test.ts', 'packages/rest/src', 'packages/topics/src/kafka'];

// Modules of users that tests write import what is built.
run('turbo', ['run', 'build', '--output-logs=errors-only', '--log-order=grouped']);
run('vitest', ['run', ...(given.length > 0 ? given : all)]);

function run(command, args) {
  const env = { ...process.env, HEADGATE_TORTURE: '1' };
  const { status } = spawnSync(command, args, { stdio: 'inherit', env, shell: process.platform === 'win32' });
  if (status !== 0) process.exit(status ?? 1);
}
