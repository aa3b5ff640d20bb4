// Runs the long versions of tests, such as those with kills, faults or random inputs. `npm test` and `npm run test:faults` run samples of them.
//   npm run torture [-- vitest arguments…]      with arguments, runs only the tests that they name
import { run } from './run.ts';

const given = process.argv.slice(2);
const all = ['apps/pipeline/src/e2e', 'apps/pipeline/src/config/rest-mistakes.test.ts', 'packages/rest/src', 'packages/topics/src/kafka'];

// Tests write users' modules, which import the build output.
await must('turbo', 'run', 'build', '--output-logs=errors-only', '--log-order=grouped');
await must('vitest', 'run', ...(given.length > 0 ? given : all));

async function must(...command) {
  const { code } = await run(command, { stdio: 'inherit', env: { ...process.env, HEADGATE_TORTURE: '1' } });
  if (code !== 0) process.exit(code ?? 1);
}
