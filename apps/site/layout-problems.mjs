import { existsSync } from 'node:fs';
import axe from 'axe-core';
import { chromium } from 'playwright-core';
import { serveSite } from './site-server.mjs';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
/** A page of each kind, for axe. */
const KINDS = ['', 'start', 'configuration', 'errors', 'packages/throttle'];

/** Pages of a built site that scroll sideways on a phone or cut code on a laptop, and violations that axe finds. Empty without a browser. */
export async function layoutProblems(dist, paths) {
  if (!existsSync(CHROMIUM)) return [];
  const server = await serveSite(dist);
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  try {
    const problems = [];
    for (const colorScheme of ['light', 'dark']) {
      const context = await browser.newContext({ colorScheme, reducedMotion: 'reduce' });
      const page = await context.newPage();
      if (colorScheme === 'light') for (const path of paths) problems.push(...(await cutOn(page, server.url, path)));
      await page.setViewportSize({ width: 1280, height: 900 });
      for (const path of KINDS) problems.push(...(await violationsOn(page, server.url, path)).map((each) => `${each} (${colorScheme})`));
      await context.close();
    }
    return problems;
  } finally {
    await browser.close();
    server.close();
  }
}

async function cutOn(page, url, path) {
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.goto(url + path);
  const cut = await page.evaluate(() =>
    [...document.querySelectorAll('.vp-doc pre')]
      .filter((pre) => pre.scrollWidth > pre.clientWidth)
      .map((pre) => pre.innerText.slice(0, 60)),
  );
  await page.setViewportSize({ width: 390, height: 844 });
  const wide = await page.evaluate(() => {
    const over = document.documentElement.scrollWidth - innerWidth;
    const tables = [...document.querySelectorAll('.vp-doc table')].filter((table) => table.scrollWidth > table.clientWidth + 1).length;
    return [...(over > 0 ? [`scrolls sideways by ${over} px`] : []), ...(tables > 0 ? [`has ${tables} tables that scroll sideways`] : [])];
  });
  return [
    ...cut.map((code) => `/${path}: at 1280 px the block is cut that starts with ${JSON.stringify(code)}`),
    ...wide.map((words) => `/${path} ${words} at 390 px`),
  ];
}

async function violationsOn(page, url, path) {
  await page.goto(url + path);
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(async () => await globalThis.axe.run(document));
  return violations.map(
    ({ id, nodes }) =>
      `/${path}: axe: ${id}: ${nodes
        .map(({ html }) => html.slice(0, 120))
        .slice(0, 3)
        .join(' | ')}`,
  );
}
