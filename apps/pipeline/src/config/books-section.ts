import { AUTHOR_PAGE_SIZE, authorFlaw } from '@headgate/sources/books';
import { z } from 'zod';
import { baseUrl, warnOfPlainHttp } from './addresses.ts';
import { Complaint } from './complaint.ts';
import type { BooksConfig } from './config.ts';
import { entryList, textEntry } from './entry-list.ts';
import { httpConfigFrom, httpKeys } from './http-keys.ts';
import { Leaf, isMapping } from './leaf.ts';
import type { Tree, TreeMapping } from './leaf.ts';
import { shown } from './problem.ts';
import type { ReadContext } from './read-context.ts';
import { chosen, mapping, single } from './schema-parts.ts';
import type { RuleBreach, Schema } from './schema-parts.ts';
import { secret } from './secrets.ts';
import { duration, numberOf, oneOf, text, wholeNumber } from './values.ts';

const PLANS = ['default', 'premium', 'pro'] as const;
const ADDRESS = 'https://books.example.com';
const MAX_BATCH = 100;
const MAX_OUTSTANDING = 1000;
const MAX_PAGES = 500;

/** The books service. ISBNs are taken as texts; whether they are ISBNs is found out when they are worked. */
export function booksSection({ context }: { readonly context: ReadContext }): Schema<BooksConfig> {
  const address = baseUrl({ example: ADDRESS });
  const baseUrls = mapping({
    shape: { default: address.exactOptional(), premium: address.exactOptional(), pro: address.exactOptional() },
    example: `{ default: ${ADDRESS} }`,
  });
  const shape = {
    ...httpKeys({ context }),
    plan: oneOf(PLANS).default('default'),
    baseUrl: address.exactOptional(),
    baseUrls: baseUrls.exactOptional(),
    key: secret({ context, variable: 'BOOKS_KEY' }),
    maxBatch: wholeNumber({ min: 1, example: '100' }).default(MAX_BATCH),
    maxOutstanding: wholeNumber({ min: 1, example: '1000' }).default(MAX_OUTSTANDING),
    pageSize: wholeNumber({ min: 1, max: 1000, example: '100' }).exactOptional(),
    maxPages: wholeNumber({ min: 1, example: '500' }).default(MAX_PAGES),
    perDay: perDay().exactOptional(),
    isbns: texts({ context, example: '"9780792712305"' }).default([]),
    authors: authors({ context }).default([]),
    every: duration({ example: '24h' }).exactOptional(),
  };
  const rules = (books: TreeMapping): readonly RuleBreach[] => [...addressOfThePlan(books), ...roomFor(books)];
  const section = mapping({ shape, example: 'books: with baseUrl and key under it', rules });
  return chosen((tree) =>
    section.transform((read) => {
      const used = read.baseUrl ?? read.baseUrls?.[read.plan] ?? z.NEVER;
      if (!read.allowPlainHttp) warnOfPlainHttp({ context, tree: addressIn(tree, read.plan), baseUrl: used });
      return {
        ...httpConfigFrom({ baseUrl: used, read }),
        plan: read.plan,
        key: read.key,
        maxBatch: read.maxBatch,
        isbns: read.isbns,
        authors: read.authors,
        pageSize: read.pageSize ?? Math.min(AUTHOR_PAGE_SIZE, read.maxOutstanding),
        maxPages: read.maxPages,
        maxOutstanding: read.maxOutstanding,
        ...(read.perDay === undefined ? {} : { perDay: read.perDay }),
        ...(read.every === undefined ? {} : { everyMs: read.every }),
      };
    }),
  );
}

/** Where the address of a plan stands. */
function addressIn(tree: unknown, plan: string): Tree | undefined {
  if (!isMapping(tree)) return undefined;
  const { baseUrl: own, baseUrls } = tree;
  return own ?? (isMapping(baseUrls) ? baseUrls[plan] : undefined);
}

function texts({ context, example }: { readonly context: ReadContext; readonly example: string }): Schema<readonly string[]> {
  return entryList({
    context,
    entry: textEntry({ example }),
    fromLine: (line) => line,
    identity: (entry) => entry,
    example: `[${example}, { file: entries.txt }]`,
  });
}

function authors({ context }: { readonly context: ReadContext }): Schema<readonly string[]> {
  const example = '"Charlotte Vale Allen"';
  const read = (text: string, written: string): string | Complaint => {
    const flaw = authorFlaw(text);
    return flaw === undefined ? text : new Complaint(`${shown(written)} ${flaw}. Write another name, or remove it.`);
  };
  return entryList({
    context,
    entry: single({
      example,
      read: ({ text = '', written }) =>
        text.trim() === '' ? new Complaint(`is empty. Write ${example}, or remove it.`) : read(text.trim(), written),
    }),
    fromLine: (line) => read(line, line),
    identity: (entry) => entry,
    example: `[${example}, { file: entries.txt }]`,
  });
}

function perDay(): Schema<NonNullable<BooksConfig['perDay']>> {
  const zone = single({
    example: 'UTC',
    read: (leaf) =>
      isZone(leaf.text ?? '')
        ? (leaf.text ?? '')
        : new Complaint(`${shown(leaf.written)} is no time zone. Write one as in UTC or Europe/Berlin.`),
  });
  return mapping({
    shape: {
      isbns: wholeNumber({ min: 1, example: '5000' }),
      resetsAt: text({ pattern: /^([01]\d|2[0-3]):[0-5]\d$/, example: '"00:00", hours and minutes' }).default('00:00'),
      zone: zone.default('UTC'),
    },
    example: '{ isbns: 5000, resetsAt: "00:00", zone: UTC }',
  });
}

function isZone(zone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).format(0) !== '';
  } catch {
    return false;
  }
}

/** A key works at its own plan's address only (service document, Authentication 3). */
function addressOfThePlan(books: TreeMapping): readonly RuleBreach[] {
  const { baseUrl: own, baseUrls } = books;
  if (own !== undefined && baseUrls !== undefined) return [{ path: ['baseUrl'], message: 'stands beside baseUrls. Keep one of the two.' }];
  if (own !== undefined) return [];
  if (baseUrls === undefined) return [{ path: ['baseUrl'], message: `is missing. Write ${ADDRESS}.` }];
  const plan = planOf(books);
  if (plan === undefined || !isMapping(baseUrls) || plan in baseUrls) return [];
  return [{ path: ['baseUrls'], message: `has no address for the plan ${plan}. Add ${plan}: ${ADDRESS}, or choose another plan.` }];
}

function planOf({ plan }: TreeMapping): (typeof PLANS)[number] | undefined {
  if (plan === undefined) return 'default';
  return plan instanceof Leaf ? PLANS.find((known) => known === plan.text) : undefined;
}

function roomFor(books: TreeMapping): readonly RuleBreach[] {
  const batch = 'maxBatch' in books ? numberOf(books['maxBatch']) : MAX_BATCH;
  const page = numberOf(books['pageSize']);
  const room = 'maxOutstanding' in books ? numberOf(books['maxOutstanding']) : MAX_OUTSTANDING;
  return [
    ...tooLittle(room, batch, (size) => [`a batch of ${size} ISBNs`, 'maxBatch']),
    ...tooLittle(room, page, (size) => [`a page of ${size} books`, 'pageSize']),
  ];
}

function tooLittle(
  room: number | undefined,
  size: number | undefined,
  words: (size: number) => readonly [what: string, key: string],
): readonly RuleBreach[] {
  if (room === undefined || size === undefined || room >= size) return [];
  const [what, key] = words(size);
  return [{ path: ['maxOutstanding'], message: `has no room for ${what}. Write ${size} or more, or a smaller ${key}.` }];
}
