import { mkdir, rm } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { type Workplace, type WorkplaceOptions, followersYaml, workplace } from './headgate-process.fixture.ts';
import { SHELVES_MODULE, startShelves } from './own-pipeline.fixture.ts';

const LOG = 'topics: { driver: sqlite, file: ./headgate.db }\nstatus: false\n';

/** A folder with these files outside of any project, so that it has no node_modules. */
async function placeWith(files: Readonly<Record<string, string>>, options: WorkplaceOptions = {}): Promise<Workplace> {
  const place = await workplace('', options);
  await rm(join(place.folder, 'headgate.yaml'));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(place.folder, name)), { recursive: true });
    await place.write(name, text);
  }
  return place;
}

function tick(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

describe("a user's own pipeline", () => {
  it('is checked, planned, run, killed, run again, enqueued, read and replayed like the built-in ones', async () => {
    await using service = await startShelves({ pages: 12, latencyMs: 15 });
    await using place = await placeWith({
      'headgate.yaml': `${LOG}shelves:\n  use: ./shelves.ts\n  baseUrl: ${service.url}\n  token: "\${TOKEN}"\n  lists: [a, { file: more.txt }]\n  unwrittenPages: 1\n`,
      'more.txt': '# the rest\nb\ngone\n',
      'shelves.ts': SHELVES_MODULE,
    });
    expect(await place.headgate('check')).toMatchObject({ code: 0 });
    expect(await place.headgate('plan')).toMatchObject({ code: 0 });

    for (let killed = 0; killed < 3; killed += 1) {
      const before = service.asked.length;
      const run = place.start('run');
      while (service.asked.length <= before + 3 && run.child.exitCode === null) await tick(2);
      run.child.kill('SIGKILL');
      expect((await run.ended).signal).toBe('SIGKILL');
    }
    // Only the run that writes the dead letter ends with 1, and that run may have been killed.
    expect([0, 1]).toContain((await place.headgate('run')).code);
    expect((await place.records('shelves.dead-letters')).map(({ key }) => key)).toEqual(['gone']);
    const booksOf = async (shelf: string): Promise<unknown[]> =>
      (await place.records('shelves.records')).filter(({ key }) => key === shelf).map(({ value }) => value['book']);
    const whole = (shelf: string): string[] => Array.from({ length: 120 }, (_book, i) => `${shelf}-${i}`);
    for (const shelf of ['a', 'b']) expect(await booksOf(shelf)).toEqual(whole(shelf));
    // Each kill can repeat one page per crawl.
    expect(service.asked.length).toBeLessThanOrEqual(2 * 12 + 1 + 3 * 3);

    expect(await place.headgate('enqueue', 'shelves', 'c')).toMatchObject({ code: 0, stderr: '1 job added to shelves.requests\n' });
    service.gone.clear();
    expect(await place.headgate('replay', 'shelves.dead-letters')).toMatchObject({
      code: 0,
      stderr: '1 re-enqueued into shelves.requests\n',
    });
    expect(await place.headgate('run')).toMatchObject({ code: 0 });
    expect([await booksOf('c'), await booksOf('gone')]).toEqual([whole('c'), whole('gone')]);
    const { stdout } = await place.headgate('read', 'shelves.records', '--max', '1', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ topic: 'shelves.records', value: { book: expect.stringMatching(/^[ab]-0$/) as string } });
    // Pipelines that aren't configured get no topics.
    expect((await place.headgate('read', 'followers.pages')).code).toBe(2);
  });
});

test('check reports a secret that can’t be read, and after one request a service that can’t be reached', async () => {
  await using service = await startShelves({ pages: 1 });
  const section = (url: string, token: string): string => `${LOG}shelves: { use: ./shelves.ts, baseUrl: "${url}", token: ${token} }\n`;
  await using place = await placeWith({
    'headgate.yaml': section(service.url, '{ file: ./none }'),
    'good.yaml': section(service.url, '"${TOKEN}"'),
    // No server listens at port 1.
    'down.yaml': section('http://127.0.0.1:1', '"${TOKEN}"'),
    'shelves.ts': SHELVES_MODULE,
  });
  const secretless = await place.headgate('check', '--online');
  expect([secretless.code, secretless.stdout]).toEqual([
    1,
    expect.stringMatching(/shelves\.token +The secret in .*none can't be read: ENOENT/),
  ]);
  expect(service.asked).toEqual([]);
  expect(await place.headgate('check', '--online', '--config', 'good.yaml')).toMatchObject({ code: 0 });
  expect(service.asked).toHaveLength(1);
  const down = await place.headgate('check', '--online', '--config', 'down.yaml');
  expect([down.code, down.stdout]).toEqual([1, expect.stringMatching(/shelves +a: .*refused/)]);
});

test('an invalid key of its section is reported with line and column, and the closest key', async () => {
  const yaml = `${LOG}shelves:\n  use: ./shelves.ts\n  baseUrl: nowhere\n  token: "\${TOKEN}"\n  listz: [a]\n  lists: [""]\n`;
  await using place = await placeWith({ 'headgate.yaml': yaml, 'shelves.ts': SHELVES_MODULE });
  const { code, stdout } = await place.headgate('check');
  expect(code).toBe(2);
  expect(
    stdout
      .split('\n')
      .map((line) => line.trim().replaceAll(/ +/g, ' '))
      .filter((line) => /^\d+:\d/.test(line)),
  ).toEqual([
    "5:12 shelves.baseUrl isn't an address.",
    '7:3 shelves.listz unknown key. Did you mean lists?',
    '8:11 shelves.lists[0] is empty.',
  ]);
});

test('a section without use: is reported by its name, unless it has no value and may be a secret', async () => {
  await using place = await placeWith({ 'headgate.yaml': `${LOG}shelves: { baseUrl: "http://127.0.0.1:1" }\nhush:\n` });
  const { stdout } = await place.headgate('check');
  expect(stdout).toMatch(/ shelves +unknown key\. .* To add your own pipeline, write use: \.\/its-module\.ts under its name\./);
  expect(stdout).not.toMatch(/hush/);
});

test('an invalid `use:` is reported with file and reason', async () => {
  const refused: readonly (readonly [use: string, reason: string])[] = [
    ['use: ./nowhere.ts', `"./nowhere.ts" doesn't exist.`],
    ['use: no-package', '"no-package" is neither a file relative to this one nor an installed package (npm install).'],
    ['use: "@post/parcels/letters"', 'nor an installed package'],
    ['use: ./broken.ts', '"./broken.ts" can\'t be loaded (line 2, column 1): SyntaxError:'],
    ['use: ./lacking.ts', "\"./lacking.ts\" can't be loaded: Cannot find package 'no-such-package'"],
    ['use: ./throwing.ts', '"./throwing.ts" can\'t be loaded (line 2, column 7): out of luck.'],
    ['use: ./nothing.ts', '"./nothing.ts" has no pipeline as its default export.'],
    ['use: /dev/zero', '"/dev/zero" isn\'t a plain file of at most 16 MiB. Name another file.'],
    ['use: ./', '"./" is a folder. Name a file.'],
    ['use: [a]', 'must be text. Write the path of a module, as in ./issues.ts, or the name of an installed package.'],
  ];
  await using place = await placeWith({
    'headgate.yaml': LOG + refused.map(([use], i) => `books-of-ours-${i}: { ${use} }\n`).join(''),
    'shelves.ts': SHELVES_MODULE,
    'broken.ts': 'export default 1;\nexport default 2 +;\n',
    'lacking.ts': "import 'no-such-package';\n",
    'throwing.ts': "const text: string = 'out of luck';\nthrow new Error(text);\n",
    'nothing.ts': 'export const pipeline = 1;\n',
  });
  const { code, stdout } = await place.headgate('check');
  expect(code).toBe(2);
  const problems = stdout.split(/^(?= +\d+:\d+ )/mu).slice(1);
  expect(problems).toHaveLength(refused.length);
  for (const [i, [, reason]] of refused.entries()) {
    expect(problems[i]).toMatch(new RegExp(`^ +${i + 3}:\\d+ +books-of-ours-${i}\\.use `, 'u'));
    expect(problems[i]).toContain(reason);
  }
});

test('an installed package is used by its name, as its exports say, from the folder of the configuration', async () => {
  const shelves = '{ use: "@post/shelves/all", baseUrl: "http://127.0.0.1:1", token: "${TOKEN}", lists: [a] }';
  await using place = await placeWith({
    'etc/headgate.yaml': `${LOG}shelves: ${shelves}\n`,
    'etc/node_modules/@post/shelves/package.json': '{ "type": "module", "exports": { "./all": { "import": "./dist/all.js" } } }',
    'etc/node_modules/@post/shelves/dist/all.js': stripTypeScriptTypes(SHELVES_MODULE),
  });
  expect(await place.headgate('check', '--config', 'etc/headgate.yaml')).toMatchObject({ code: 0 });
});

test('Node prints nothing about a module in a folder whose package.json has no type', async () => {
  const files = {
    'package.json': '{}',
    'headgate.yaml': `${LOG}shelves: { use: ./shelves.ts, baseUrl: "http://127.0.0.1:1", token: "\${TOKEN}", lists: [a] }\n`,
    'shelves.ts': SHELVES_MODULE,
  };
  await using place = await placeWith(files, { processes: true });
  expect(await place.headgate('check')).toMatchObject({ code: 0, stderr: '' });
});

test('your own pipeline runs together with followers, on topics with a prefix and custom names', async () => {
  const { startFollowers } = await import('@headgate/sandbox');
  await using service = await startShelves({ pages: 2 });
  await using followers = await startFollowers({
    users: { alpha: { followers: 30 } },
    window: { kind: 'rolling', limit: 100_000, windowMs: 1_000 },
  });
  const named = followersYaml({ url: followers.url, users: ['alpha'] }).replace(
    'headgate.db }',
    'headgate.db, prefix: prod.social., names: { followers.pages: pages } }',
  );
  const yaml = `${named}shelves: { use: ./shelves.ts, baseUrl: "${service.url}", token: "\${TOKEN}", lists: [a] }\n`;
  await using place = await placeWith({ 'headgate.yaml': yaml, 'shelves.ts': SHELVES_MODULE });
  expect(await place.headgate('run')).toMatchObject({ code: 0 });
  expect(await place.records('pages')).toHaveLength(1);
  expect(await place.records('prod.social.followers.ids')).toHaveLength(30);
  expect(await place.records('prod.social.shelves.records')).toHaveLength(20);
  for (const topic of ['prod.social.followers.ids', 'followers.ids']) {
    const { stdout } = await place.headgate('read', topic, '--max', '1', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ topic: 'prod.social.followers.ids', offset: 0 });
  }
  expect((await place.headgate('enqueue', 'shelves', 'b')).stderr).toBe('1 job added to prod.social.shelves.requests\n');
  expect((await place.headgate('plan', '--json')).code).toBe(0);
  expect((await place.headgate('replay', 'shelves.dead-letters')).stderr).toBe(
    '0 re-enqueued into prod.social.shelves.requests: prod.social.shelves.dead-letters has no open dead letter\n',
  );
  expect(await place.headgate('run')).toMatchObject({ code: 0 });
  expect(await place.records('prod.social.shelves.records')).toHaveLength(40);

  // `check` and `run` warn of another group only if both groups use topics with the same names.
  const asGroup = async (topics: string, command: string): Promise<string> => {
    await place.write('other.yaml', yaml.replace(/prefix: .*? \}/, `group: other, ${topics}`));
    const { code, stdout, stderr } = await place.headgate(command, '--config', 'other.yaml');
    expect(code).toBe(0);
    return stdout + stderr;
  };
  expect(await asGroup('prefix: prod.social., names: { followers.pages: pages }', 'check')).toContain('Group "other" starts over');
  for (const command of ['check', 'run']) expect(await asGroup('prefix: test.', command)).not.toContain('Group');
  expect(await place.records('test.shelves.records')).toHaveLength(20);
});
