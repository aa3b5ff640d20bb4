import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { configFolder } from './config-folder.fixture.ts';
import { loadConfig } from './load-config.ts';
import { readList } from './read-list.ts';

test('a list is read as in YAML: one entry per line, without comments', async () => {
  const folder = await configFolder({ 'users.txt': '\uFEFF# mine\r\nalpha\r\n\r\n  beta # a friend\nC#\n' });
  const file = join(folder, 'users.txt');
  expect(await readList(file)).toEqual(['alpha', 'beta', 'C#']);
  expect(await readList(pathToFileURL(file))).toEqual(['alpha', 'beta', 'C#']);
});

test('a list that is missing is named', async () => {
  const file = join(await configFolder({}), 'users.txt');
  await expect(readList(file)).rejects.toThrow(`readList: ${file} doesn't exist. Paths are relative to the working folder.`);
});

test('a headgate.config.ts takes its lists and its credentials from files', async () => {
  const cwd = await configFolder({
    'users.txt': 'alpha\nbeta\n',
    'apps.txt': 'first FIRST_TOKEN\nsecond SECOND_TOKEN\n',
    'headgate.config.ts': `import { defineConfig, followers, readList } from 'headgate';
const apps = (await readList(new URL('apps.txt', import.meta.url))).map((line) => line.split(' '));
export default defineConfig({
  pipelines: [
    followers({
      baseUrl: 'https://api.example.com',
      credentials: apps.map(([name = '', variable = '']) => ({ name, bearer: () => process.env[variable] ?? '' })),
      users: await readList(new URL('users.txt', import.meta.url)),
    }),
  ],
});
`,
  });
  const { config } = await loadConfig({ cwd, env: { FIRST_TOKEN: 'one', SECOND_TOKEN: 'two' } });
  const [pipeline] = config.pipelines;
  expect(pipeline?.credentials).toEqual(['first', 'second']);
  expect([...(pipeline?.listed() ?? [])].map(({ key }) => key)).toEqual(['@alpha', '@beta']);
});
