// The long soaks: every kill, every window at full length. `npm test` runs samples of each.
//   npm run torture [-- vitest arguments…]      with arguments only the tests they name run
import { spawnSync } from 'node:child_process';

const given = process.argv.slice(2);
const all = ['apps/pipeline/src/e2e', 'packages/topics/src/kafka'];

const { status } = spawnSync('vitest', ['run', ...(given.length > 0 ? given : all)], {
  stdio: 'inherit',
  env: { ...process.env, HEADGATE_TORTURE: '1' },
  shell: process.platform === 'win32',
});
process.exit(status ?? 1);
