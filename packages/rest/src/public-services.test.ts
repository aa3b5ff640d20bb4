import { readFileSync } from 'node:fs';
import { creditPool, systemClock } from '@headgate/throttle';
import { unwrittenJournal } from '@headgate/throttle/internal';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { startApi } from './api.fixture.ts';
import { runCut, valuesOf } from './cut-runs.fixture.ts';
import type { Section } from './list.fixture.ts';
import { MORE_PUBLIC_SERVICES } from './more-public-services.fixture.ts';
import { BEGAN, PUBLIC_SERVICES, type PublicService } from './public-services.fixture.ts';
import { rest } from './rest.ts';
import { sharedLog } from './shared-log.fixture.ts';
import type { TriedStream } from './try.ts';

/** Sections for public services, as YAML. Each runs against an emulator. */
const TEXT = ['', 'more-'].map((more) => readFileSync(new URL(`${more}public-services.fixture.yaml`, import.meta.url), 'utf8')).join('');
const SERVICES = { ...PUBLIC_SERVICES, ...MORE_PUBLIC_SERVICES };

/** A service's section with the address of its emulator, and with a limit that keeps the test fast. */
function sectionOf(name: string, url: string): Section {
  const first = new Date(BEGAN).toISOString().slice(0, 10);
  const text = TEXT.replaceAll(/\$\{(\w+)\}/g, 'secret-$1').replaceAll(/first: 2024-01-01, window/g, `first: ${first}, window`);
  const { use, ...section } = (parse(text) as Readonly<Record<string, { readonly use: string } & Section>>)[name] ?? { use: '' };
  expect(use).toBe('rest');
  const { limit, budgets, baseUrl, credentials, ...others } = section as Section;
  const quick = { ...limit, requests: 900, window: '100ms' };
  return {
    ...others,
    baseUrl: url + new URL(baseUrl).pathname.replace(/\/$/, ''),
    credentials: credentials.map(({ token, ...one }) => ({ ...one, ...(token && { token: { ...token, url: `${url}/token` } }) })),
    ...(budgets === undefined ? { limit: quick } : { budgets: { ...budgets, minute: quick } }),
  };
}

const shareOfLog = sharedLog();

const CUTS = [
  { at: 6, isDurable: false },
  { at: 9, isDurable: true },
  { at: 12, isDurable: false },
];

it.concurrent.each(Object.keys(SERVICES))('%s: each record of it once, however often it is cut off', async (name) => {
  const { truth, refusals = 0, ...service } = (SERVICES[name] ?? ((): PublicService => ({ truth: {}, routes: {} })))();
  await using api = await startApi(service);
  const pipeline = rest('api')(sectionOf(name, api.url));
  const share = shareOfLog();
  await runCut(share, pipeline, CUTS);
  expect(await valuesOf(share, 'api.dead-letters')).toEqual([]);
  for (const [topic, records] of Object.entries(truth)) {
    const found = (await Array.fromAsync(share.log.read({ topic: `${share.topics.prefix}api.${topic}` }))).map(({ key, value }) => [
      key ?? '',
      JSON.parse(value ?? 'null'),
    ]);
    const sorted = (all: readonly unknown[]) => all.map((one) => JSON.stringify(one)).toSorted();
    expect(sorted(found)).toEqual(sorted(records));
  }
  expect(api.refused()).toBe(refusals);
});

it.concurrent.each(Object.keys(SERVICES))(
  '%s: a trial of each listing tells the status, its records with their keys, and the next request',
  async (name) => {
    const { truth, ...service } = (SERVICES[name] ?? ((): PublicService => ({ truth: {}, routes: {} })))();
    await using api = await startApi(service);
    const section = sectionOf(name, api.url);
    const pipeline = rest('api')(section);
    const trial = async (value: string): Promise<TriedStream> => {
      const journal = unwrittenJournal();
      const io = { clock: systemClock(), env: {}, signal: AbortSignal.timeout(60_000), journal, onAttempt: () => undefined };
      const probe = pipeline.probe({ ...io, credits: creditPool({ max: 1 }) }, 0, value);
      try {
        return (await probe?.query()) as TriedStream;
      } finally {
        await probe?.source.close();
      }
    };
    for (const { value } of pipeline.listed()) {
      const { stream } = JSON.parse(value) as { readonly stream: string };
      // A trial isn't retried, but the emulator of Discord answers 202 to the first request, as if it were still building its index.
      const tried = await trial(value).catch(async () => await trial(value));
      expect(tried.status).toBeLessThan(300);
      expect(tried.at).toBe(section.streams[stream]?.records ?? '$');
      expect(tried.examples).toHaveLength(Math.min(2, tried.records));
      const keys = new Set(truth[stream]?.map(([key]) => key));
      for (const { key } of tried.examples) expect(key === undefined || keys.has(key)).toBe(true);
      expect(tried.warnings.some((warning) => warning.includes('no records'))).toBe(tried.records === 0);
      expect(tried.next ?? (tried.records === 0 || tried.records >= keys.size ? 'GET none' : '')).toMatch(/^(?:GET|POST) /);
    }
  },
);
