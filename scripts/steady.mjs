// Tests whether the tests pass on a busy machine: runs them repeatedly, while other processes keep the CPU busy at the same priority.
//   npm run steady -- [N] [LOAD] [vitest arguments…]      N runs (default 5) with LOAD busy processes (default 8); lists all failed tests
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [runs = 5, load = 8] = process.argv.slice(2, 4).map(wholeNumber);
const given = process.argv.slice(4);
const folder = mkdtempSync(join(tmpdir(), 'headgate-steady-'));
const projects = given.length > 0 ? given : ['unit', 'embedded', 'broker'].flatMap((name) => ['--project', name]);
// The loops end with this process, however it ends.
const loops = Array.from({ length: load }, () => {
  const loop =
    'process.stdin.on("end", () => process.exit()).resume(); (function spin() { const end = Date.now() + 100; while (Date.now() < end); setImmediate(spin); })();';
  return spawn(process.execPath, ['-e', loop], { stdio: ['pipe', 'ignore', 'inherit'] });
});
process.on('exit', () => {
  for (const loop of loops) loop.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

await run('turbo', ['run', 'build', '--output-logs=errors-only']);
const red = new Map();
let slowestMs = 0;
for (let nth = 1; nth <= runs; nth += 1) {
  const file = join(folder, `${nth}.json`);
  const before = performance.now();
  const status = await run('vitest', ['run', ...projects, '--reporter=./scripts/totals-reporter.ts'], {
    ...process.env,
    HEADGATE_TOTALS_FILE: file,
  });
  const tookMs = performance.now() - before;
  slowestMs = Math.max(slowestMs, tookMs);
  const failures = redIn(file, status);
  process.stdout.write(`run ${nth} of ${runs}: ${failures.length} red, ${Math.round(tookMs / 1_000)} s\n`);
  for (const { name, reason } of failures) {
    red.set(name, (red.get(name) ?? 0) + 1);
    process.stdout.write(`  ${name}\n${reason.replaceAll(/^/gmu, '    ')}\n`);
  }
}
process.stdout.write(
  `${runs} runs beside ${load} loops, the longest ${Math.round(slowestMs / 1_000)} s. ${red.size === 0 ? 'No test was red.' : 'Red:'}\n`,
);
for (const [name, times] of [...red].toSorted(([, one], [, other]) => other - one))
  process.stdout.write(`  ${times} of ${runs}: ${name}\n`);
process.exit(red.size === 0 ? 0 : 1);

/** The failed tests, and the files that couldn't be loaded, each with its error. */
function redIn(file, status) {
  try {
    const { failures } = JSON.parse(readFileSync(file, 'utf8'));
    return failures.length === 0 && status !== 0 ? [{ name: 'vitest', reason: `ended with ${status}` }] : failures;
  } catch {
    return [{ name: 'vitest', reason: `ended with ${status} and no report` }];
  }
}

function run(command, args, env = process.env) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { env, stdio: ['ignore', 'ignore', 'inherit'], shell: process.platform === 'win32' });
    child.on('error', reject);
    child.on('close', (status) => resolve(status ?? 1));
  });
}

function wholeNumber(text) {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  process.stderr.write(`steady: ${text} is not a whole number. Usage: npm run steady -- [N] [LOAD]\n`);
  process.exit(2);
}
