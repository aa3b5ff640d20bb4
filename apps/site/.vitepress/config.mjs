import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import { SEARCH } from './search.mjs';
import { SECTIONS } from './sections.mjs';

const PAGES = join(import.meta.dirname, '../.pages');
/** The source document of each page. build.mjs writes this list. */
const SOURCES = JSON.parse(readFileSync(join(PAGES, 'sources.json'), 'utf8'));
const { version, repository } = JSON.parse(readFileSync(join(import.meta.dirname, '../../pipeline/package.json'), 'utf8'));
const REPOSITORY = repository.url.replace(/^git\+|\.git$/gu, '');

const page = (text, link) => ({ text, link });
const pagesIn = (folder) => {
  const names = existsSync(join(PAGES, folder)) ? readdirSync(join(PAGES, folder)).map((name) => name.replace(/\.md$/u, '')) : [];
  return names.toSorted().map((name) => page(name, `/${folder}/${name}`));
};

const PROJECT = [
  page('All documents', '/documents'),
  page('Architecture', '/architecture'),
  page('Contributing', '/contributing'),
  page('Style guide', '/style-guide'),
  page('Releases', '/releasing'),
  page('Security policy', '/security'),
  page('Bench', '/bench'),
];

export default defineConfig({
  lang: 'en-US',
  title: 'Headgate',
  description: 'Streams rate-limited HTTP services into Kafka or SQLite: every request the budget allows, never one more.',
  srcDir: '.pages',
  outDir: 'dist',
  cacheDir: '.pages/.cache',
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  // The theme has no landmark on its home page.
  transformHtml: (html, id) =>
    id.endsWith('/index.html') && !html.includes('<main') ? html.replace('id="VPContent"', 'id="VPContent" role="main"') : undefined,
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    // Anchors of headings are the same as on GitHub, so that links work in the repository, too.
    anchor: {
      slugify: (heading) =>
        heading
          .toLowerCase()
          .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
          .replaceAll(/\s/gu, '-'),
    },
    // An empty table header would confuse screen readers, so it becomes a plain cell.
    config(md) {
      const isEmpty = (tokens, index) => tokens[index].content === '';
      md.renderer.rules.th_open = (tokens, index) => (isEmpty(tokens, index + 1) ? '<td>' : '<th>');
      md.renderer.rules.th_close = (tokens, index) => (isEmpty(tokens, index - 1) ? '</td>' : '</th>');
    },
  },
  transformPageData({ relativePath, frontmatter }) {
    const filePath = SOURCES[relativePath];
    return filePath === undefined ? { frontmatter: { ...frontmatter, editLink: false } } : { filePath };
  },
  themeConfig: {
    search: { provider: 'local', options: SEARCH },
    outline: [2, 3],
    editLink: { pattern: `${REPOSITORY}/edit/main/:path`, text: 'Edit this page' },
    nav: [
      page('Get started', '/start'),
      page('Any API in YAML', '/any-api'),
      page('Configuration', '/configuration'),
      page('Troubleshooting', '/troubleshooting'),
      page(`v${version}`, '/changelog'),
    ],
    sidebar: [
      ...SECTIONS.map(({ text, items }) => ({ text, items: items.map(([title, link]) => page(title, link)) })),
      { text: 'Packages', items: [...pagesIn('packages'), page('API reference', '/reference/')] },
      { text: 'Examples', items: pagesIn('examples') },
      { text: 'Project', items: PROJECT },
    ],
  },
});
