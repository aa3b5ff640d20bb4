// The long soaks: every kill, every window at full length. `npm test` runs samples of each.
//   npm run torture [-- vitest arguments…]
import { spawnSync } from 'node:child_process';

const { status } = spawnSync('vitest', ['run', 'apps/pipeline/src/e2e', 'packages/topics/src/kafka', ...process.argv.slice(2)], {
  stdio: 'inherit',
  env: { ...process.env, HEADGATE_TORTURE: '1' },
  shell: process.platform === 'win32',
});
process.exit(status ?? 1);
