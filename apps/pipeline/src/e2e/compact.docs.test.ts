import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { expect, it } from 'vitest';
import { type Workplace, workplace } from './headgate-process.fixture.ts';
import { httpService } from './http-service.fixture.ts';

const PAGE = await readFile(fileURLToPath(new URL('../../../../docs/any-api.md', import.meta.url)), 'utf8');
const [, SECTION = ''] = PAGE.split('\n## The newest record of each key\n');
const [, YAML = ''] = /^```yaml\n(.*?)^```$/ms.exec(SECTION) ?? [];
const [, READ = ''] = /^```sh\nheadgate (.*?)\n```$/ms.exec(SECTION) ?? [];

/** A service with the issues 1, 2 and so on, each in the version of the listing. */
async function issues() {
  const counts = [3, 5, 4];
  let listing = 0;
  const service = await httpService((_, response) => {
    const count = counts[listing] ?? 0;
    listing += 1;
    const body = Array.from({ length: count }, (__, i) => ({ id: i + 1, listing }));
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  return { url: service.url, asked: () => listing, [Symbol.asyncDispose]: async () => await service[Symbol.asyncDispose]() };
}

async function linesOf(place: Workplace, command: string): Promise<readonly unknown[]> {
  const { code, stdout } = await place.headgate(...command.split(' '));
  expect(code).toBe(0);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
}

const NEWEST = [1, 2, 3, 4].map((id) => ({ id, listing: 3 }));

it.each([', compact: true', ''])(
  'the example of a stream with%s: a reader of the newest records sees each key once, as the last listing that has it',
  async (compact) => {
    await using service = await issues();
    const yaml = YAML.replace(/https:\S+/, service.url).replace(', compact: true', compact);
    await using place = await workplace(`topics: { driver: sqlite, file: headgate.db }\nstatus: false\n${yaml}`);
    for (const again of [[], ['--again', 'tracker'], ['--again', 'tracker']]) {
      const { code, stderr } = await place.headgate('run', ...again);
      expect(code, stderr).toBe(0);
    }
    expect(service.asked()).toBe(3);
    const newest = [{ id: 5, listing: 2 }, ...NEWEST];
    expect(await linesOf(place, READ)).toEqual(newest);
    expect(await linesOf(place, READ.replace(' --newest', ''))).toHaveLength(compact === '' ? 12 : 5);
    expect(await linesOf(place, `${READ} --key 5`)).toEqual([{ id: 5, listing: 2 }]);
    expect(await linesOf(place, `${READ} --max 2`)).toEqual(newest.slice(0, 2));
  },
);

it('check and run refuse a topic that is not compacted, before any request', async () => {
  await using service = await issues();
  const yaml = YAML.replace(/https:\S+/, service.url);
  await using place = await workplace(`topics: { driver: sqlite, file: headgate.db }\nstatus: false\n${yaml}`);
  await using log = await sqliteTopicLog({ file: `${place.folder}/headgate.db` });
  await log.createTopics([{ name: 'tracker.issues', partitions: 1 }]);
  const words = `Topic "tracker.issues" is not compacted and can't be changed. Use another topic name or another log.`;
  expect(await place.headgate('check')).toMatchObject({ code: 1, stdout: expect.stringContaining(words) as string });
  expect(await place.headgate('run')).toMatchObject({ code: 1, stderr: expect.stringContaining(words) as string });
  expect(service.asked()).toBe(0);
});

it('read refuses --newest with --follow, which has no newest record', async () => {
  await using place = await workplace('status: false\n');
  const { code, stderr } = await place.headgate('read', 'tracker.issues', '--newest', '--follow');
  expect([code, stderr]).toEqual([2, expect.stringContaining("'--newest' cannot be used with option '--follow'")]);
});
