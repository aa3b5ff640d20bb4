import { copyFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startFollowers } from '@headgate/sandbox';
import { describe, expect, it } from 'vitest';
import { followersYaml, workplace } from './headgate-process.fixture.ts';

const yaml = (url: string): string => followersYaml({ url, users: ['a'], more: '  count: 100\n' });

describe('headgate backup', () => {
  it('copies the log during a run, and a run on the copy continues at its page', async () => {
    await using service = await startFollowers({
      users: { a: { followers: 4_000, pageSize: 100 } },
      window: { kind: 'rolling', limit: 100_000, windowMs: 1_000 },
      latencyMs: 50,
    });
    await using place = await workplace(yaml(service.url));
    const run = place.begin('run');
    await expect.poll(() => service.requests.length).toBeGreaterThan(5);
    const { code, stdout, stderr } = await place.headgate('backup', 'copy.db');
    expect([code, stdout, stderr]).toEqual([
      0,
      '',
      expect.stringMatching(/^copy\.db is a copy of \S+headgate\.db: \d+ topics, [\d,]+ records, [\d,]+ bytes, all verified\.\n$/u),
    ]);
    expect((await run.ended).code).toBe(0);

    await using other = await workplace(yaml(service.url));
    await copyFile(join(place.folder, 'copy.db'), join(other.folder, 'headgate.db'));
    expect((await other.headgate('run')).code).toBe(0);
    const [restored, original] = [await other.records('followers.ids'), await place.records('followers.ids')];
    expect(restored.map(({ value }) => value['id'])).toEqual(original.map(({ value }) => value['id']));
    expect(restored).toHaveLength(4_000);
    expect(service.requests.length).toBeLessThan(80);

    expect(await place.headgate('backup', 'copy.db')).toMatchObject({ code: 1, stderr: expect.stringContaining('never overwrites') });
  });

  it('reports that there is nothing to copy', async () => {
    await using place = await workplace(yaml('http://127.0.0.1:9'));
    expect(await place.headgate('backup', 'copy.db')).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no log at') });
    await place.write('headgate.yaml', 'topics: { driver: kafka, brokers: [127.0.0.1:9] }\n');
    expect(await place.headgate('backup', 'copy.db')).toMatchObject({ code: 2, stderr: expect.stringContaining('the log is on Kafka') });
    expect(await readdir(place.folder)).toEqual(['headgate.yaml']);
  });
});
