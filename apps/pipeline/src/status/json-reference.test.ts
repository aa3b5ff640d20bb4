import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { EVENT_TYPES } from './event-words.ts';
import { busyView } from './page/busy-view.fixture.ts';
import { snakeCased } from './text/snake-case.ts';

const page = await readFile(new URL('../../../../docs/commands.md', import.meta.url), 'utf8');
const [, run = ''] = /^## run\n(.*?)^## /msu.exec(page) ?? [];

test('docs/commands.md has every event of a JSON log', () =>
  expect(EVENT_TYPES.filter((type) => !run.includes(`\`${type}\``))).toEqual([]));

test('docs/commands.md has every key of /status.json', () => {
  const view = snakeCased(busyView());
  expect(Object.keys(view).filter((key) => !run.includes(`\`${key}\``))).toEqual([]);
});
