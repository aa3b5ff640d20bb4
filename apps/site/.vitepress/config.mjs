import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';

const PAGES = join(import.meta.dirname, '../.pages');
const page = (text, link) => ({ text, link });
const pagesIn = (folder) => {
  const names = existsSync(join(PAGES, folder)) ? readdirSync(join(PAGES, folder)).map((name) => name.replace(/\.md$/u, '')) : [];
  return names.toSorted().map((name) => page(name, `/${folder}/${name}`));
};

const START = [
  page('Overview', '/'),
  page('Start here', '/start-here'),
  page('A first session', '/a-first-session'),
  page('Ten words', '/glossary'),
];
const USE = [
  page('Configuration', '/configuration'),
  page('Commands for machines', '/commands'),
  page('In production', '/production'),
  page('Status page', '/status-page'),
  page('Metrics', '/metrics'),
  page('Traces', '/traces'),
];
const KAFKA = [
  page('Headgate on Kafka', '/kafka'),
  page('Other clients', '/consuming'),
  page('Exactly once, and its limits', '/exactly-once'),
];
const BUILD = [
  page('Any API in YAML', '/any-api'),
  page('Recipes for services', '/recipes'),
  page('Coming from Airbyte or dlt', '/coming-from'),
  page('A pipeline of your own', '/own-pipeline'),
  page('Operators and credit', '/operators'),
];
const PROJECT = [
  page('Architecture', '/architecture'),
  page('Contributing', '/contributing'),
  page('Releases', '/releasing'),
  page('Sizes', '/sizes'),
  page('Bench', '/bench'),
];

export default defineConfig({
  title: 'Headgate',
  description: 'Streams rate-limited HTTP services into topic logs: every request a budget permits, never one more.',
  srcDir: '.pages',
  outDir: 'dist',
  cacheDir: '.pages/.cache',
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  // As the repository's own pages are shown, so that a link to a heading fits both.
  markdown: {
    anchor: {
      slugify: (heading) =>
        heading
          .toLowerCase()
          .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
          .replaceAll(/\s/gu, '-'),
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    docFooter: { prev: false, next: false },
    nav: [page('Start here', '/start-here'), page('Configuration', '/configuration'), page('Your own pipeline', '/own-pipeline')],
    sidebar: [
      { text: 'Begin', items: START },
      { text: 'Use', items: USE },
      { text: 'Results', items: KAFKA },
      { text: 'Build', items: BUILD },
      { text: 'Packages', items: [...pagesIn('packages'), page('Reference', '/reference/')] },
      { text: 'Examples', items: pagesIn('examples') },
      { text: 'Project', items: PROJECT, collapsed: true },
    ],
  },
});
