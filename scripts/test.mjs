// Everything that has to be green: build, types, lint, format, dead exports, package health, then the tests.
//   node scripts/test.mjs [vitest arguments…]      with arguments only the tests they name run
import { spawnSync } from 'node:child_process';

const given = process.argv.slice(2);
// Modules of users that tests write import what is built.
const others = ['typecheck', 'lint', 'format:check', 'deadcode', 'health', 'api:check', 'sizes:check', 'site'];
run('turbo', ['run', 'build', ...(given.length > 0 ? [] : others), '--output-logs=errors-only', '--log-order=grouped']);
run('vitest', ['run', ...given]);

function run(command, args) {
  const { status, signal } = spawnSync(command, args, { stdio: 'inherit', shell: process.platform === 'win32' });
  if (status !== 0) process.exit(signal ? 130 : (status ?? 1));
}
