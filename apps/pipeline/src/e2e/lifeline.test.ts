import { spawn } from 'node:child_process';
import { expect, it, onTestFinished } from 'vitest';
import { spawnOnLifeline } from './lifeline.fixture.ts';

const FIXTURE = new URL('lifeline.fixture.ts', import.meta.url).href;
const FOR_EVER = 'setInterval(() => undefined, 1_000)';

it('a command ends with the process that started it, even if that is killed', async () => {
  const script = `
    import { spawnOnLifeline } from ${JSON.stringify(FIXTURE)};
    console.log(spawnOnLifeline([process.execPath, '-e', ${JSON.stringify(FOR_EVER)}], { env: {}, stdin: 'ignore' }).pid);
  `;
  const starter = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const said: string[] = [];
  starter.stdout.setEncoding('utf8').on('data', (text: string) => said.push(text));
  await expect.poll(() => said.join('')).toMatch(/^\d+\n$/u);
  const pid = Number(said.join(''));
  onTestFinished(() => void (isThere(pid) && process.kill(pid, 'SIGKILL')));
  expect(isThere(pid)).toBe(true);
  starter.kill('SIGKILL');
  await expect.poll(() => isThere(pid)).toBe(false);
});

it('a command keeps its process id, its streams and its exit', async () => {
  const child = spawnOnLifeline([process.execPath, '-e', 'process.stdin.pipe(process.stdout); console.error(process.pid)'], {
    env: {},
    stdin: 'pipe',
  });
  const out = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (out.stdout += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (out.stderr += text));
  child.stdin?.end('in and out');
  const code = await new Promise((ended) => child.once('close', ended));
  expect({ code, ...out }).toEqual({ code: 0, stdout: 'in and out', stderr: `${child.pid}\n` });
});

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
