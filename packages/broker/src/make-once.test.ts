import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { makeOnce } from './make-once.ts';

let room = '';
beforeEach(async () => {
  room = await mkdtemp(join(tmpdir(), 'headgate-make-once-'));
});
afterEach(async () => rm(room, { recursive: true }));

test('of several that want a folder at once one makes it, and all find it whole', async () => {
  const folder = join(room, 'cache', 'jars');
  let made = 0;
  const want = async (): Promise<string> => {
    await makeOnce(folder, async (unfinished) => {
      made += 1;
      await mkdir(unfinished);
      await writeFile(join(unfinished, 'a.jar'), 'whole');
    });
    return readFile(join(folder, 'a.jar'), 'utf8');
  };
  expect(await Promise.all([want(), want(), want()])).toEqual(['whole', 'whole', 'whole']);
  expect(made).toBe(1);
  expect(await readdir(join(room, 'cache'))).toEqual(['jars']);
});

test('a failure leaves nothing, and the next one may try', async () => {
  const folder = join(room, 'jars');
  const fail = makeOnce(folder, async (unfinished) => {
    await mkdir(unfinished);
    throw new Error('no network');
  });
  await expect(fail).rejects.toThrow('no network');
  expect(await readdir(room)).toEqual([]);
  await makeOnce(folder, async (unfinished) => {
    await mkdir(unfinished);
  });
  expect(await readdir(room)).toEqual(['jars']);
});

test('a lock whose holder is gone does not hold', async () => {
  const folder = join(room, 'jars');
  await mkdir(`${folder}.lock`);
  await utimes(`${folder}.lock`, new Date(0), new Date(0));
  await makeOnce(folder, async (unfinished) => {
    await mkdir(unfinished);
  });
  expect(await readdir(room)).toEqual(['jars']);
});

test('a cache that cannot be written is reported with what to set', async () => {
  await writeFile(join(room, 'file'), '');
  await expect(makeOnce(join(room, 'file', 'jars'), async () => undefined)).rejects.toMatchObject({
    code: 'HEADGATE_KAFKA_BROKER',
    message: expect.stringMatching(
      /^The cache needs a folder: .*mkdir.* Set XDG_CACHE_HOME to one that this user can write to\.$/u,
    ) as string,
  });
});
