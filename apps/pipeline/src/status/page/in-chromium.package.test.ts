import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { systemClock } from '@headgate/throttle';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, type Page, chromium } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import type { RunView } from '../run-view.ts';
import { type StatusServer, startStatusServer } from '../status-server.ts';
import { busyView } from './busy-view.fixture.ts';

const CHROMIUM = '/usr/bin/chromium';
/** `HEADGATE_SCREENSHOTS=1 npm test -- in-chromium` takes the pictures of docs/ again. */
const PICTURES =
  process.env['HEADGATE_SCREENSHOTS'] === '1' ? fileURLToPath(new URL('../../../../../docs/images/', import.meta.url)) : undefined;

let browser: Browser;
let view: RunView;
let server: StatusServer;
const processes: ChildProcess[] = [];
/** Errors that pages have reported, and requests to other addresses. */
let flaws: string[] = [];

beforeAll(async () => {
  if (!existsSync(CHROMIUM)) return;
  browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-background-networking', '--disable-quic', '--disable-lcd-text'],
    timeout: 120_000,
  });
});
afterAll(async () => await browser?.close());

beforeEach(async ({ skip }) => {
  skip(!existsSync(CHROMIUM), `needs ${CHROMIUM}: apt-get install chromium`);
  view = busyView();
  server = await serve();
});
afterEach(async () => {
  const found = flaws;
  flaws = [];
  for (const context of browser?.contexts() ?? []) await context.close();
  await server?.close();
  for (const one of processes.splice(0)) one.kill('SIGKILL');
  if (found.length > 0) throw new Error(`A page told of ${found.join('; ')}`);
});

async function serve(port = 0): Promise<StatusServer> {
  const commandFor = (command: string, argument: string): string => `headgate ${command} ${argument}`;
  return await startStatusServer({ port, host: '127.0.0.1', clock: systemClock(), timeZone: 'UTC', commandFor, view: () => view });
}

async function open(options: BrowserContextOptions = {}, query = ''): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.on('pageerror', (error) => flaws.push(error.message));
  page.on('console', (message) => {
    // Network errors are expected: a run that was killed can't be reached.
    if (message.type() === 'error' && !message.text().includes('net::ERR_')) flaws.push(message.text());
  });
  page.on('request', (request) => {
    if (!/^(?:http:\/\/127\.0\.0\.1:|data:)/u.test(request.url())) flaws.push(`asks ${request.url()}`);
  });
  await page.goto(server.url + query);
  return page;
}

const connection = (page: Page) => expect.poll(async () => await page.locator('#connection').textContent());
const names = async (page: Page) => await page.locator('#work th').allTextContents();

it('the page updates only what has changed, and keeps the selection, the focus, the scroll position and all other elements', async () => {
  const page = await open({ viewport: { width: 1_280, height: 400 } });
  await connection(page).toBe('Live');
  await page.locator('input[name=q]').focus();
  await page.evaluate(`{
    window.row = document.querySelector('#work [data-key="followers.requests-0-1"]');
    const name = window.row.querySelector('th').firstChild;
    getSelection().setBaseAndExtent(name, 1, name, 5);
    scrollTo(0, 300);
  }`);
  const [first, ...others] = view.work;
  if (first?.kind !== 'walk') throw new Error('no walk');
  const { doing: _, ...ended } = first;
  view = { ...view, outcome: 'failed', work: [{ ...ended, state: 'completed', pages: 1_020 }, ...others] };
  await expect.poll(async () => await page.title()).toBe('failed · headgate');
  expect(await page.locator('h1').textContent()).toBe('headgate failed');
  expect(await page.locator('#announcement').textContent()).toBe('failed');
  expect((await names(page)).slice(0, 2)).toEqual(['@beta', '@epsilon_with_a_long_name']);
  expect(await page.locator('#work tr', { hasText: '@alpha' }).textContent()).toContain('1,020 pages');
  expect(
    await page.evaluate(`({
      selected: getSelection().toString(),
      same: window.row === document.querySelector('#work tr'),
      focused: document.activeElement.name,
      scrolled: scrollY,
    })`),
  ).toEqual({ selected: 'beta', same: true, focused: 'q', scrolled: 300 });
});

it('the page shows that the run has ended, stays, and continues with the next run at its address', async () => {
  const page = await open();
  await connection(page).toBe('Live');
  view = { ...view, outcome: 'done' };
  await server.close();
  await connection(page).toBe('The run has ended: this is how it stood then.');
  expect(await page.title()).toBe('done, with 1 dead letter · headgate');
  await page.waitForTimeout(3_000);
  expect(await page.locator('#connection').textContent()).toMatch(/^The run has ended/u);
  expect(await names(page)).toHaveLength(7);
  const { outcome: _, ...working } = view;
  view = working;
  server = await serve(server.port);
  await connection(page).toBe('Live');
  expect(await page.title()).toMatch(/running/u);
});

it('the page shows that the connection is lost when the run is killed, and continues with the next run', async () => {
  const start = async (port: number, version: string): Promise<{ readonly url: string; readonly child: ChildProcess }> => {
    const script = fileURLToPath(new URL('serving-process.fixture.ts', import.meta.url));
    const child = spawn(process.execPath, ['--conditions=@headgate/source', script, `${port}`, version], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    processes.push(child);
    const [url] = (await once(child.stdout, 'data')) as [Buffer];
    return { url: url.toString().trim(), child };
  };
  const killed = await start(0, '1.0.0');
  const page = await open();
  await page.goto(killed.url);
  await connection(page).toBe('Live');
  expect(await page.locator('#about').textContent()).toContain('Version1.0.0');
  killed.child.kill('SIGKILL');
  await connection(page).toMatch(/^No connection since \d\d:\d\d:\d\d. Trying again\./u);
  expect(await page.title()).toBe('connection lost · headgate');
  expect(await names(page)).toHaveLength(7);
  await page.evaluate('window.isThis = true');
  await start(Number(new URL(killed.url).port), '2.0.0');
  await connection(page).toBe('Live');
  expect(await page.locator('#about').textContent()).toContain('Version2.0.0');
  expect(await page.title()).toMatch(/running/u);
  expect(await page.evaluate('window.isThis')).toBe(true);
});

it('the page shows some of a thousand jobs, and its search finds each', async () => {
  view = busyView({ requests: 1_000 });
  const page = await open();
  await connection(page).toBe('Live');
  expect(await names(page)).toHaveLength(25);
  expect(await page.locator('#work-rest').textContent()).toMatch(/^and 978 more: 974 working, 1 failed, 1 done, 2 waiting/u);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  expect(await page.evaluate('document.activeElement.name')).toBe('q');
  await page.keyboard.type('user_99');
  await expect.poll(async () => await names(page)).toEqual(['@user_99', ...Array.from({ length: 10 }, (_, i) => `@user_99${i}`)]);
  expect(page.url()).toContain('?q=user_99&state=all&rows=25');
  await page.locator('input[name=q]').fill('');
  await page.locator('select[name=state]').selectOption('failed');
  await expect.poll(async () => await names(page)).toEqual(['@carol']);
  await page.reload();
  await expect.poll(async () => await names(page)).toEqual(['@carol']);
  await page.locator('select[name=state]').selectOption('all');
  await page.locator('select[name=rows]').selectOption('300');
  await expect.poll(async () => (await names(page)).length).toBe(300);
});

it('the page can be paused with the keyboard', async () => {
  const page = await open();
  await connection(page).toBe('Live');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await connection(page).toMatch(/^Paused at/u);
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Go on');
  view = { ...view, isStopping: true };
  await page.waitForTimeout(2_500);
  expect(await page.locator('h1').textContent()).toBe('headgate running');
  await page.keyboard.press('Enter');
  await connection(page).toBe('Live');
  expect(await page.locator('h1').textContent()).toBe('headgate stopping');
});

it('the page tells without JavaScript where to find the state of the run', async () => {
  const page = await open({ javaScriptEnabled: false });
  expect(await page.locator('noscript').textContent()).toContain('status.json');
});

it('the page shows hostile names as text', async () => {
  const hostile = '<img src=x onerror="document.title=1">';
  const { work, about } = busyView();
  const [first, ...others] = work;
  if (first?.kind !== 'walk') throw new Error('no walk');
  view = busyView({ changed: { about: { ...about, config: hostile }, work: [{ ...first, key: hostile }, ...others] } });
  const page = await open({}, '?q=%3Cimg&state=%3Cb%3E&length=1');
  await connection(page).toBe('Live');
  expect(await names(page)).toEqual([hostile]);
  expect(await page.locator('#head').textContent()).toContain(hostile);
  expect(await page.locator('input[name=q]').inputValue()).toBe('<img');
  expect(await page.locator('select[name=state]').inputValue()).toBe('all');
  expect(await page.locator('img').count()).toBe(0);
});

it('a screen reader reads a bar as its share', async () => {
  const page = await open();
  await connection(page).toBe('Live');
  const bars = await page.evaluate<string[]>("[...document.querySelectorAll('#work progress')].map((bar) => bar.ariaValueText)");
  expect(bars).toEqual(expect.arrayContaining([expect.stringMatching(/^40\.\d %$/u), '100 %']));
});

const STATES: Readonly<Record<string, () => RunView>> = {
  running: () => busyView(),
  waiting: () => {
    const { work, budgets, ...rest } = busyView();
    const [app, reader] = budgets.map((one) => ({ ...one, used: one.limit, freeAt: rest.now + 451_000 }));
    return busyView({
      changed: {
        work: work.filter((row) => row.kind === 'walk' && row.doing?.state !== 'retrying'),
        budgets: [app, reader].flatMap((one) => one ?? []),
      },
    });
  },
  degraded: () =>
    busyView({
      changed: {
        failedLanes: [
          {
            pipeline: 'followers',
            lane: 0,
            reason: 'app: its token is invalid or expired (401 "Invalid or expired token."). Get a new one',
          },
        ],
        logUnavailable: {
          type: 'log-unavailable',
          driver: 'kafka',
          reason: 'connect ECONNREFUSED 127.0.0.1:9092',
          since: busyView().now - 80_000,
        },
      },
    }),
  empty: () =>
    busyView({
      changed: { isStarted: false, work: [], budgets: [], lanes: [], history: { faults: [], events: [] }, pipelines: {} },
    }),
};

for (const colorScheme of ['light', 'dark'] as const) {
  it(`the page is accessible and fits 390 px in ${colorScheme} colors`, async () => {
    for (const [state, make] of Object.entries(STATES)) {
      view = make();
      for (const width of [1_280, 390]) {
        const page = await open({ colorScheme, viewport: { width, height: 844 } });
        await connection(page).toBe('Live');
        await page.evaluate(axe.source);
        const { violations } = await page.evaluate<axe.AxeResults>(
          'axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] })',
        );
        const found = violations.map(
          ({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('; ')}`,
        );
        expect({ state, width, found }).toEqual({ state, width, found: [] });
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
        await page.context().close();
      }
    }
  });
}

it('the pictures for docs/ are taken', async ({ skip }) => {
  if (PICTURES === undefined) return skip('HEADGATE_SCREENSHOTS=1 takes the pictures for docs/');
  mkdirSync(PICTURES, { recursive: true });
  const taken = [
    ['status-page', { viewport: { width: 860, height: 600 }, colorScheme: 'light' }, 'running'],
    ['status-page-degraded', { viewport: { width: 860, height: 250 }, colorScheme: 'dark' }, 'degraded'],
    ['status-page-narrow', { viewport: { width: 360, height: 480 }, colorScheme: 'light' }, 'waiting'],
  ] as const;
  let bytes = 0;
  for (const [name, options, state] of taken) {
    view = STATES[state]?.() ?? view;
    const page = await open(options);
    await connection(page).toBe('Live');
    bytes += (await page.screenshot({ path: `${PICTURES}${name}.png` })).length;
  }
  expect(bytes).toBeLessThan(150_000);
});
