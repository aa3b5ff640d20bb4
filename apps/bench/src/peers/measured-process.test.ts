import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { measuredProcess } from './measured-process.ts';

const folder = tmpdir();
const withoutPython = spawnSync('python3', ['--version']).status !== 0;

test.skipIf(withoutPython)('counts the memory of a process, and the CPU of those it waited for', async () => {
  const burn = 'const end = process.cpuUsage().user + 300_000; while (process.cpuUsage().user < end);';
  const parent = `require('node:child_process').spawnSync(process.execPath, ['-e', ${JSON.stringify(burn)}]); Buffer.alloc(200e6, 1)`;
  const { cpuMs, wallMs, peakBytes } = await measuredProcess('python3', { argv: [process.execPath, '-e', parent], folder }).ended();
  expect(cpuMs).toBeGreaterThan(300);
  expect(wallMs).toBeGreaterThan(300);
  expect(peakBytes).toBeGreaterThan(200e6);
  expect(peakBytes).toBeLessThan(600e6);
});

test.skipIf(withoutPython)('reports the last output of one that fails', async () => {
  const failing = measuredProcess('python3', { argv: [process.execPath, '-e', 'console.error("no page"); process.exit(3)'], folder });
  await expect(failing.ended()).rejects.toThrow(/ended with 3:\nno page/u);
});

test.skipIf(withoutPython)('stops one that keeps running', async () => {
  const staying = measuredProcess('python3', { argv: [process.execPath, '-e', 'setInterval(() => {}, 1_000)'], folder });
  expect(await staying.pid).toBeGreaterThan(1);
  staying.stop();
  expect(await staying.ended(-15)).toMatchObject({ cpuMs: expect.any(Number) });
});
