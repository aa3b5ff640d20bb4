// Tests whether the tests pass on a busy machine: runs them repeatedly, while other processes keep the CPU busy at the same priority.
//   npm run steady -- [N] [LOAD] [vitest arguments…]      N runs (default 5) with LOAD busy processes (default 8)
import { spawn } from 'node:child_process';
import { run } from './run.ts';

const [runs = 5, load = 8] = process.argv.slice(2, 4).map(Number);
const given = process.argv.slice(4);
const projects = given.length > 0 ? given : ['unit', 'embedded', 'docs', 'broker'].map((name) => `--project=${name}`);
// The loops end with this process, however it ends.
const loop =
  'process.stdin.on("end", () => process.exit()).resume(); (function spin() { const end = Date.now() + 100; while (Date.now() < end); setImmediate(spin); })();';
const loops = Array.from({ length: load }, () => spawn(process.execPath, ['-e', loop], { stdio: ['pipe', 'ignore', 'inherit'] }));

let red = 0;
for (let nth = 1; nth <= runs; nth += 1) {
  const startedAt = performance.now();
  const { code } = await run(['vitest', 'run', ...projects], { stdio: 'inherit' });
  if (code !== 0) red += 1;
  process.stdout.write(
    `run ${nth} of ${runs}: ${code === 0 ? 'green' : 'red'}, ${Math.round((performance.now() - startedAt) / 1_000)} s\n`,
  );
}
for (const busy of loops) busy.kill('SIGKILL');
process.stdout.write(`${red} of ${runs} runs beside ${load} loops were red.\n`);
process.exitCode = red === 0 ? 0 : 1;
