import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { defineConfig } from 'vitepress';

const ROOT = join(import.meta.dirname, '../../..');
const { version, repository } = JSON.parse(readFileSync(join(ROOT, 'apps/pipeline/package.json'), 'utf8'));
const REPOSITORY = repository.url.replace(/^git\+|\.git$/gu, '');

const section = (text, ...pages) => ({ text, items: pages.map(([title, link]) => ({ text: title, link })) });
const readmes = (folder) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => existsSync(join(ROOT, folder, name, 'README.md')))
    .map((name) => [name, `/${folder}/${name}/README`]);

/** Leads links to the pages of the site or, for other files of the repository, to the published repository. */
function repositoryLinks({ tokens, env }) {
  for (const token of tokens.flatMap(({ children }) => children ?? [])) {
    const href = token.type === 'link_open' ? token.attrGet('href') : '#';
    if (/^(?:[a-z]+:|[#/])/u.test(href)) continue;
    const [path, anchor] = decodeURI(href).split('#');
    const wanted = relative(ROOT, join(dirname(env.realPath ?? env.path), path));
    const [page] = [wanted, `${wanted}/README.md`].filter((file) => file.endsWith('.md') && existsSync(join(ROOT, file)));
    const kind = page === undefined && statSync(join(ROOT, wanted)).isDirectory() ? 'tree' : 'blob';
    const target =
      page === 'README.md' ? '/' : page === undefined ? `${REPOSITORY}/${kind}/main/${wanted}` : `/${page.replace(/^apps\/site\//u, '')}`;
    token.attrSet('href', anchor === undefined ? target : `${target}#${anchor}`);
  }
}

export default defineConfig({
  lang: 'en-US',
  title: 'Headgate',
  description: 'Streams rate-limited HTTP services into Kafka or SQLite: every request the budget allows, never one more.',
  // Pages have the paths of the repository.
  srcDir: '../..',
  outDir: 'dist',
  srcExclude: ['README.md', 'docs/api', 'packages/*/CHANGELOG.md', 'apps/pipeline/src'],
  rewrites: { 'apps/site/home.md': 'index.md', 'apps/site/reference/:page(.*)': 'reference/:page' },
  // Pages outside of this folder don't find Vue while VitePress renders them, but VitePress does.
  vite: {
    plugins: [
      { name: 'vue', enforce: 'pre', resolveId: (id, _, { ssr }) => (ssr && /^vue\b/u.test(id) ? { id, external: true } : undefined) },
    ],
  },
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
    config(md) {
      md.core.ruler.push('repository-links', repositoryLinks);
      // Vue would take `{{ }}` in code for an expression.
      md.renderer.rules.code_inline = (tokens, index) => `<code v-pre>${md.utils.escapeHtml(tokens[index].content)}</code>`;
      // An empty table header would confuse screen readers, so it becomes a plain cell.
      const isEmpty = (tokens, index) => tokens[index].content === '';
      md.renderer.rules.th_open = (tokens, index) => (isEmpty(tokens, index + 1) ? '<td>' : '<th>');
      md.renderer.rules.th_close = (tokens, index) => (isEmpty(tokens, index - 1) ? '</td>' : '</th>');
    },
  },
  transformPageData: ({ relativePath, frontmatter }) =>
    relativePath.startsWith('reference/') ? { frontmatter: { ...frontmatter, editLink: false } } : undefined,
  themeConfig: {
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          searchOptions: {
            fuzzy: 0.2,
            prefix: true,
            boost: { title: 4, titles: 2, text: 1 },
            // VitePress sends this function to the browser as text, so it can't use anything outside itself.
            boostDocument: (id) => {
              if (id.startsWith('/reference/')) return 0.02;
              if (/^\/docs\/observe\.html#(?:events|statusjson)/u.test(id)) return 0.3;
              return /^\/docs\/(?!releasing|style-guide)/u.test(id) ? 1 : 0.05;
            },
          },
        },
      },
    },
    outline: [2, 3],
    editLink: { pattern: `${REPOSITORY}/edit/main/:path`, text: 'Edit this page' },
    nav: section(
      '',
      ['Get started', '/docs/start'],
      ['Any API in YAML', '/docs/any-api'],
      ['Configuration', '/docs/configuration'],
      ['Troubleshooting', '/docs/troubleshooting'],
      [`v${version}`, '/apps/pipeline/CHANGELOG'],
    ).items,
    sidebar: [
      section('Get started', ['Start', '/docs/start']),
      section(
        'Guides',
        ['Any API in YAML', '/docs/any-api'],
        ['Recipes for services', '/docs/recipes'],
        ['Coming from Airbyte or dlt', '/docs/coming-from'],
        ['Consume records', '/docs/consuming'],
        ['A pipeline of your own', '/docs/own-pipeline'],
        ['Embed in a program', '/docs/embed'],
        ['Streams and backpressure', '/docs/operators'],
        ['Several tenants', '/docs/tenants'],
      ),
      section(
        'Reference',
        ['Commands', '/docs/commands'],
        ['Configuration', '/docs/configuration'],
        ['Topics and records', '/docs/records'],
        ['Errors by code', '/docs/errors'],
        ['Glossary', '/docs/glossary'],
        ['Exactly once, and its limits', '/docs/exactly-once'],
      ),
      section(
        'Operate',
        ['In production', '/docs/production'],
        ['Kafka', '/docs/kafka'],
        ['Observe a run', '/docs/observe'],
        ['Troubleshooting', '/docs/troubleshooting'],
        ['Versions, support and upgrades', '/docs/support'],
        ['Changelog', '/apps/pipeline/CHANGELOG'],
      ),
      section('Packages', ['headgate', '/apps/pipeline/README'], ...readmes('packages'), ['API reference', '/reference/']),
      section('Examples', ...readmes('examples')),
      section(
        'Project',
        ['All documents', '/docs/README'],
        ['Architecture', '/ARCHITECTURE'],
        ['Contributing', '/CONTRIBUTING'],
        ['Style guide', '/docs/style-guide'],
        ['Releases', '/docs/releasing'],
        ['Security policy', '/SECURITY'],
        ['Bench', '/apps/bench/README'],
      ),
    ],
  },
});
