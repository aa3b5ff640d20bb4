import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { EVENT_TYPES } from './format-event.ts';
import { busyView } from './page/busy-view.fixture.ts';
import { snakeCased } from './text/snake-case.ts';

const page = await readFile(new URL('../../../../docs/observe.md', import.meta.url), 'utf8');

test('docs/observe.md describes every event of a JSON log', () =>
  expect(EVENT_TYPES.filter((type) => !page.includes(`\`${type}\``))).toEqual([]));

test('docs/observe.md describes every key of /status.json', () => {
  const view = snakeCased(busyView());
  expect(Object.keys(view).filter((key) => !page.includes(`\`${key}\``))).toEqual([]);
});
