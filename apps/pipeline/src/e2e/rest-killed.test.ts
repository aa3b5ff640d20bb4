import { join } from 'node:path';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { expect, it } from 'vitest';
import { workplace } from './headgate-process.fixture.ts';
import { killedAmid, libraryYaml, startLibrary } from './library.fixture.ts';

const KILLS = process.env['HEADGATE_TORTURE'] === '1' ? 20 : 4;

it('a run writes each record of three levels once, and repeats at most one request per listing and kill during a thousand children', async () => {
  await using library = await startLibrary();
  await using place = await workplace(libraryYaml({ topics: 'driver: sqlite, file: headgate.db', url: library.url }));
  const openLog = async () => await sqliteTopicLog({ file: join(place.folder, 'headgate.db') });
  const start = () => {
    const { child, ended } = place.start('run', '--follow');
    return { ended, signal: (name: NodeJS.Signals) => child.kill(name) };
  };
  await killedAmid({ library, kills: KILLS, processes: 1, start, openLog, random: Math.random });
  const { code, stderr } = await place.headgate('run');
  expect(code, stderr).toBe(0);
  await using log = await openLog();
  await library.expectWhole(log, 'library');
});
