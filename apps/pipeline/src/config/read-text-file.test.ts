import { execFileSync } from 'node:child_process';
import { mkdtemp, open, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readTextFile } from './read-text-file.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-text-'));
});
afterAll(() => rm(folder, { recursive: true }));

test('a file is read as UTF-8 without a byte order mark; UTF-16 is reported', async () => {
  const file = join(folder, 'plain.txt');
  const text = 'ä€\u{1f600}\n'.repeat(50_000);
  await writeFile(file, `\uFEFF${text}`);
  expect(await readTextFile(file)).toBe(text);
  await writeFile(file, '');
  expect(await readTextFile(file)).toBe('');
  for (const bytes of [
    [0xff, 0xfe, 0x61, 0],
    [0xfe, 0xff, 0, 0x61],
    [0x61, 0, 0x62, 0],
    [0, 0x61, 0, 0x62],
  ]) {
    await writeFile(file, Buffer.from(bytes));
    await expect(readTextFile(file)).rejects.toThrow('is UTF-16. Save it as UTF-8.');
  }
});

test('an endless or huge file is refused', async () => {
  const file = join(folder, 'large.txt');
  await writeFile(file, '');
  // The file is sparse, so it takes no space on the disk.
  await truncate(file, 600 * 2 ** 20);
  await expect(readTextFile(file)).rejects.toThrow('has more than 256 MiB, or is endless. Name a smaller file.');
  await expect(readTextFile('/dev/zero', 2 ** 20)).rejects.toThrow('has more than 1 MiB, or is endless.');
  expect(await readTextFile('/dev/null')).toBe('');
  await expect(readTextFile(folder)).rejects.toMatchObject({ code: 'EISDIR' });
  await expect(readTextFile(join(folder, 'none'))).rejects.toMatchObject({ code: 'ENOENT' });
});

test('a pipe is read to its end', async () => {
  const fifo = join(folder, 'fifo');
  execFileSync('mkfifo', [fifo]);

  // The text is longer than a pipe's buffer, and the writer opens the pipe after the reader.
  const text = 'alpha\n'.repeat(50_000);
  const reading = readTextFile(fifo);
  const writer = await open(fifo, 'w');
  await writer.write(text.slice(0, 9));
  await writer.write(text.slice(9));
  await writer.close();
  expect(await reading).toBe(text);
});
