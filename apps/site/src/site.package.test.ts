import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import axe from 'axe-core';
import MiniSearch from 'minisearch';
import { type Browser, type Page, chromium } from 'playwright-core';
import { type DefaultTheme, type UserConfig, serve } from 'vitepress';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

const SITE = join(import.meta.dirname, '..');
const DIST = join(SITE, 'dist');
const CONFIG = join(SITE, '.vitepress/config.mjs');
const CHROMIUM = '/usr/bin/chromium';
/** A page of each kind. */
const KINDS = ['/', '/docs/start', '/docs/configuration', '/docs/errors', '/packages/throttle/README'];

let site: Awaited<ReturnType<typeof serve>>;
let browser: Browser;

const isBuildable = !SITE.includes('#');

beforeAll(() => {
  if (!isBuildable) return;
  const { status, stdout, stderr } = spawnSync('turbo', ['run', 'site'], { cwd: SITE, encoding: 'utf8' });
  if (status !== 0) throw new Error(stdout + stderr);
});
beforeEach(({ skip }) => skip(!isBuildable, 'vite builds no site in a folder with # in its path'));

function built(names: RegExp): ReadonlyMap<string, string> {
  const files = readdirSync(DIST, { recursive: true, encoding: 'utf8' }).filter((name) => names.test(name));
  return new Map(files.map((name) => [`/${name}`, readFileSync(join(DIST, name), 'utf8')]));
}

it('has a page of each document and of each export, none of them empty', () => {
  const html = built(/\.html$/u);
  const pages = [...html.keys()];
  const wanted = ['index', 'docs/any-api', 'packages/throttle/README', 'examples/issues/README', 'apps/pipeline/CHANGELOG', 'ARCHITECTURE'];
  expect(pages).toEqual(expect.arrayContaining([...wanted, 'reference/throttle/functions/limiter'].map((path) => `/${path}.html`)));
  expect(pages.filter((path) => /^\/(?:README|docs\/api|apps\/site)/u.test(path))).toEqual([]);
  expect(pages.filter((path) => path !== '/404.html' && html.get(path)?.includes('<h1') !== true)).toEqual([]);
});

it('has no links to headings that do not exist', () => {
  const html = built(/\.html$/u);
  const dead = [...html].flatMap(([from, text]) => {
    const links = [...text.matchAll(/href="([^"#:]*)#([^"]+)"/gu)].map(([, path = '', id = '']) => {
      const page = path === '' ? from : new URL(path, `http://site${from}`).pathname.replace(/\/$/u, '/index.html');
      return { page, id: decodeURIComponent(id) };
    });
    return links
      .filter(({ page, id }) => id !== 'VPContent' && html.get(page)?.includes(` id="${id}"`) !== true)
      .map(({ page, id }) => `${from}: ${page} has no heading #${id}`);
  });
  expect(dead).toEqual([]);
});

it('loads no scripts, styles, fonts and pictures from elsewhere', () => {
  const loads = /(?:\ssrc="|<link [^>]*href="|url\(["']?)((?:https?:)?\/\/[^"')]+)/gu;
  expect(
    [...built(/\.(?:html|css)$/u)].flatMap(([name, text]) => [...text.matchAll(loads)].map(([, address]) => `${name}: ${address}`)),
  ).toEqual([]);
});

it.each([
  ['retry', /^\/docs\/(?:any-api|configuration|production|errors|troubleshooting)/u],
  ['error', /^\/docs\/(?:errors|any-api|troubleshooting)/u],
  ['resume', /^\/docs\/(?:start|troubleshooting|exactly-once)/u],
  ['proxy', /^\/docs\/(?:troubleshooting|configuration)/u],
  ['lane', /^\/docs\/(?:glossary|kafka|configuration)/u],
  ['dead letter', /^\/docs\/(?:commands|glossary|errors|troubleshooting)/u],
  ['troubleshooting', /^\/docs\/troubleshooting/u],
  ['install', /^\/(?:index|docs\/(?:start|support|troubleshooting))?(?:\.html)?(?:#|$)/u],
])('the search for %s finds a guide that explains it first', async (query, wanted) => {
  const [literal = ''] = built(/@localSearchIndex.*\.js$/u).values();
  const { default: index } = (await import(`data:text/javascript,${encodeURIComponent(literal)}`)) as { readonly default: string };
  const { search } = ((await import(CONFIG)) as { readonly default: UserConfig<DefaultTheme.Config> }).default.themeConfig ?? {};
  const { searchOptions = {} } = (search?.provider === 'local' && search.options?.miniSearch) || {};
  const options = { fields: ['title', 'titles', 'text'], storeFields: ['title', 'titles'], searchOptions };
  const found = MiniSearch.loadJSON<{ id: string }>(index, options).search(query);
  const [first, ...others] = found.slice(0, 3).map(({ id }) => String(id));
  expect(first).toMatch(wanted);
  expect(others.filter((id) => /^\/(?:reference|packages|examples)\//u.test(id))).toEqual([]);
});

async function open(page: Page, path: string): Promise<void> {
  await page.goto(`http://127.0.0.1:${(site.server.address() as AddressInfo).port}${path}`);
}

describe('in Chromium', () => {
  beforeAll(async () => {
    if (!isBuildable || !existsSync(CHROMIUM)) return;
    site = await serve({ root: SITE, port: 0 });
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'], timeout: 120_000 });
  });
  afterAll(async () => {
    await browser?.close();
    site?.server.close();
  });
  beforeEach(({ skip }) => skip(!existsSync(CHROMIUM), `needs ${CHROMIUM}: apt-get install chromium`));

  it.each(['light', 'dark'] as const)('axe finds nothing on pages of each kind, %s', async (colorScheme) => {
    await using context = await browser.newContext({ colorScheme, reducedMotion: 'reduce', viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    page.setDefaultTimeout(0);
    for (const path of KINDS) {
      await open(page, path);
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate<axe.AxeResults>('axe.run(document)');
      expect([path, violations.map(({ id, nodes }) => [id, nodes.slice(0, 3).map(({ html }) => html.slice(0, 120))])]).toEqual([path, []]);
    }
  });

  it('no page cuts code on a laptop or scrolls sideways on a phone', async () => {
    await using context = await browser.newContext({ reducedMotion: 'reduce' });
    const page = await context.newPage();
    page.setDefaultTimeout(0);
    for (const path of built(/^(?!reference|assets|404).*\.html$/u).keys()) {
      await page.setViewportSize({ width: 1280, height: 900 });
      await open(page, path);
      const cut = await page.evaluate<string[]>(
        "[...document.querySelectorAll('.vp-doc pre')].filter((pre) => pre.scrollWidth > pre.clientWidth).map((pre) => pre.innerText.slice(0, 60))",
      );
      await page.setViewportSize({ width: 390, height: 844 });
      const sideways = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      const tables = await page.evaluate<number>(
        "[...document.querySelectorAll('.vp-doc table')].filter((table) => table.scrollWidth > table.clientWidth + 1).length",
      );
      expect({ path, cut, sideways: Math.max(0, sideways), tables }).toEqual({ path, cut: [], sideways: 0, tables: 0 });
    }
  });
});
