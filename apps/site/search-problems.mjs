import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import MiniSearch from 'minisearch';
import { SEARCH } from './.vitepress/search.mjs';

/** Searches, each with the pages of which one must be the first result. */
const SEARCHES = {
  retry: /^\/(?:any-api|configuration|production|errors|troubleshooting)/u,
  error: /^\/(?:errors|any-api|troubleshooting)/u,
  resume: /^\/(?:start|troubleshooting|exactly-once)/u,
  proxy: /^\/(?:troubleshooting|configuration)/u,
  lane: /^\/(?:glossary|kafka|configuration)/u,
  'dead letter': /^\/(?:commands|glossary|errors|troubleshooting)/u,
  troubleshooting: /^\/troubleshooting/u,
  install: /^\/(?:index|start|support|troubleshooting)?(?:\.html)?(?:#|$)/u,
};

/** Searches of the built site whose first result is wrong, or whose first three results contain a page that isn't a guide. */
export function searchProblems(dist) {
  const folder = join(dist, 'assets/chunks');
  const name = readdirSync(folder).find((each) => each.startsWith('@localSearchIndex'));
  const [, literal = ''] = /^const \w+=(["'`][^]*["'`]);export/u.exec(readFileSync(join(folder, name), 'utf8')) ?? [];
  const index = MiniSearch.loadJSON(textOf(literal), {
    fields: ['title', 'titles', 'text'],
    storeFields: ['title', 'titles'],
    searchOptions: SEARCH.miniSearch.searchOptions,
  });
  return Object.entries(SEARCHES).flatMap(([query, wanted]) => {
    const found = index.search(query).slice(0, 3);
    const [first] = found;
    const isGuide = ({ id }) => !/^\/(?:reference|packages|examples)\//u.test(id);
    if (first !== undefined && wanted.test(first.id) && found.every(isGuide)) return [];
    return [`The search for "${query}" finds ${found.map(({ id }) => id).join(', ') || 'nothing'} first.`];
  });
}

function textOf(literal) {
  return literal.startsWith('"') ? JSON.parse(literal) : literal.slice(1, -1).replaceAll(/\\([`'\\$])/gu, '$1');
}
