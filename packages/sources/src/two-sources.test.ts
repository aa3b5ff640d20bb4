import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Journal, creditPool } from '@headgate/throttle';
import { fileJournal } from '@headgate/throttle/file-journal';
import { virtualClock } from '@headgate/throttle/testing';
import { expect, onTestFinished, test } from 'vitest';
import { defineSource } from './define-source.ts';
import { credential, MINUTE_MS, thrown, toy } from './scene.fixture.ts';

const own = { requests: 5, windowMs: MINUTE_MS };
const shared = { ...own, shared: true };

/** Opens sources of several services on one journal, which another process then continues. */
async function program() {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-'));
  onTestFinished(async () => await rm(folder, { recursive: true }));
  const clock = virtualClock();
  const open = (journal: Journal, service: string, limit: typeof own, ...names: string[]) => {
    const source = defineSource<string, string>({ ...toy([]), service, weights: () => ({}) })({
      baseUrl: 'https://shop.example',
      credentials: names.map(credential),
      limit,
      journal,
      clock,
      env: {},
      maxDelayMs: 0,
      fetch: async () => await Promise.resolve(new Response('"good"')),
    });
    return {
      source,
      used: () => source.gauges().budgets.map(({ used }) => used),
      async send(requests: number) {
        for (let i = 0; i < requests; i += 1) await source.query(`/${i}`, { credits: creditPool({ max: 99 }) });
      },
    };
  };
  return { open, start: async () => await fileJournal({ file: join(folder, 'journal.db'), clock }) };
}

test('a credential that another source has in the same journal is refused until that one is closed', async () => {
  const { open, start } = await program();
  await using journal = await start();
  const search = open(journal, 'search', own, 'app');
  await search.send(3);
  const error = thrown(() => open(journal, 'core', own, 'other', 'app'));
  expect(error).toMatchObject({
    code: 'HEADGATE_INVALID_OPTION',
    service: 'core',
    credential: 'app',
    message:
      'core: another source (search) has a credential "app" in the same journal. Each would overwrite the other\'s used budget, and a ' +
      "restart would exceed it. Give each source's credential its own name, or close the other source first.",
  });
  // The source that was refused keeps no entry.
  const other = open(journal, 'other', own, 'other');
  await other.send(1);
  await search.source.close();
  expect(open(journal, 'core', own, 'app').used()).toEqual([3]);
});

test('two sources with their own credentials each continue their budgets', async () => {
  const { open, start } = await program();
  for (const before of [0, 2]) {
    await using journal = await start();
    const sources = ['search', 'core'].map((service) => open(journal, service, own, service));
    expect(sources.map(({ used }) => used())).toEqual([[before], [before]]);
    for (const source of sources) await source.send(2);
  }
});

test('a source without shared limits leaves those of another source in the journal', async () => {
  const { open, start } = await program();
  for (const before of [0, 2]) {
    await using journal = await start();
    const search = open(journal, 'search', shared, 'x');
    open(journal, 'core', own, 'y');
    expect(search.used()).toEqual([before]);
    await search.send(2);
  }
});

test('only one source of a journal can have shared limits', async () => {
  const { open, start } = await program();
  await using journal = await start();
  const search = open(journal, 'search', shared, 'x');
  await search.send(2);
  expect(thrown(() => open(journal, 'core', shared, 'y'))).toMatchObject({
    code: 'HEADGATE_INVALID_OPTION',
    message:
      "core: another source (search) has limits that all credentials share in the same journal. Each would overwrite the other's used " +
      'budget, and a restart would exceed it. Share limits in only one of them, give each its own journal, or close the other source first.',
  });
  await search.source.close();
  expect(open(journal, 'search', own, 'y').used()).toEqual([2]);
});
