import { request } from 'undici';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type GatedPages, gatedPages } from './gated-pages.ts';

let pages: GatedPages;

beforeEach(async () => {
  pages = await gatedPages({ pages: 4, idsPerPage: 2 });
});

afterEach(() => pages.close());

/** Walks all pages and tells of each. */
async function walk(onPage: () => void): Promise<void> {
  for (let cursor = '-1'; cursor !== '0';) {
    const { body } = await request(`${pages.origin}/?cursor=${cursor}`);
    cursor = ((await body.json()) as { readonly next_cursor_str: string }).next_cursor_str;
    onPage();
  }
}

test('answers as far as it is told to, then the rest', async () => {
  let seen = 0;
  const walking = walk(() => (seen += 1));
  await pages.answerUpTo(0);
  expect(seen).toBe(0);
  await pages.answerUpTo(2);
  expect(seen).toBe(2);
  await pages.answerUpTo(3);
  expect(seen).toBe(3);
  pages.answerAll();
  await walking;
  expect(seen).toBe(4);
});
