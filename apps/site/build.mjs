// Builds the site into dist from the repository's documents, such as docs, the packages' READMEs and the reference.
//   node build.mjs
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, normalize, relative } from 'node:path';
import { SECTIONS } from './.vitepress/sections.mjs';
import { layoutProblems } from './layout-problems.mjs';
import { searchProblems } from './search-problems.mjs';

const HERE = import.meta.dirname;
const ROOT = join(HERE, '../..');
const PAGES = join(HERE, '.pages');
const DIST = join(HERE, 'dist');
const { repository } = JSON.parse(readFileSync(join(ROOT, 'apps/pipeline/package.json'), 'utf8'));
const REPOSITORY = repository.url.replace(/^git\+|\.git$/gu, '');

/** Each document's path in the repository, and its page. */
const pages = new Map([
  ['apps/site/home.md', 'index.md'],
  ['docs/README.md', 'documents.md'],
  ['apps/pipeline/CHANGELOG.md', 'changelog.md'],
  ['SECURITY.md', 'security.md'],
  ['ARCHITECTURE.md', 'architecture.md'],
  ['CONTRIBUTING.md', 'contributing.md'],
  ['apps/pipeline/README.md', 'packages/headgate.md'],
  ['apps/bench/README.md', 'bench.md'],
  ...markdownOf('docs')
    .filter((name) => name !== 'README.md')
    .map((name) => [`docs/${name}`, name]),
  ...readmesOf('packages'),
  ...readmesOf('examples'),
]);

rmSync(PAGES, { recursive: true, force: true });
for (const [document, page] of pages) {
  const file = join(PAGES, page);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, withLinks(readFileSync(join(ROOT, document), 'utf8'), document, page));
}
cpSync(join(ROOT, 'docs/images'), join(PAGES, 'images'), { recursive: true });
cpSync(join(ROOT, 'docs/images/terminal.svg'), join(PAGES, 'public/images/terminal.svg'));
writeFileSync(join(PAGES, 'sources.json'), JSON.stringify(Object.fromEntries([...pages].map(([document, page]) => [page, document]))));
run('node', [join(ROOT, 'scripts/reference/reference.mjs'), join(PAGES, 'reference')]);
run('vitepress', ['build']);
writeLlms();
const paths = [...pages.values()].map((page) => page.replace(/\.md$/u, '').replace(/^index$/u, ''));
const problems = [...deadAnchors(), ...foreignResources(), ...searchProblems(DIST), ...(await layoutProblems(DIST, paths))];
if (problems.length > 0) {
  process.stderr.write(`${problems.join('\n')}\n`);
  process.exit(1);
}

function run(command, args) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: HERE, stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8' });
  if (status === 0) return;
  process.stderr.write(stdout + stderr);
  process.exit(status ?? 1);
}

function markdownOf(folder) {
  return readdirSync(join(ROOT, folder)).filter((name) => name.endsWith('.md'));
}

function readmesOf(folder) {
  const names = readdirSync(join(ROOT, folder)).filter((name) => existsSync(join(ROOT, folder, name, 'README.md')));
  return names.map((name) => [`${folder}/${name}/README.md`, `${folder}/${name}.md`]);
}

/** The documents for language models: a list of pages, and the pages as Markdown. */
function writeLlms() {
  for (const page of pages.values()) {
    mkdirSync(dirname(join(DIST, page)), { recursive: true });
    cpSync(join(PAGES, page), join(DIST, page));
  }
  const sections = SECTIONS.map(
    ({ text, items }) => `## ${text}\n\n${items.map(([title, path]) => `- [${title}](${path}.md)`).join('\n')}\n`,
  );
  const { description } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  writeFileSync(join(DIST, 'llms.txt'), `# Headgate\n\n> ${description}\n\n${sections.join('\n')}`);
}

/** Rewrites links: to the pages of documents, to the copies of images and, for other files, to the published repository. */
function withLinks(text, document, page) {
  const parts = text.split(/^(```[^]*?^```$)/mu);
  const link = (target) => {
    if (/^[a-z]+:|^#/u.test(target)) return target;
    const [path, anchor] = target.split('#');
    const wanted = normalize(join(dirname(document), path)).replace(/\/$/u, '');
    if (wanted.startsWith('docs/images/')) return relative(dirname(page), join('images', basename(wanted))).replace(/^(?!\.)/u, './');
    if (!existsSync(join(ROOT, wanted))) throw new Error(`${document}: there is no ${wanted}, which it links to`);
    if (wanted === 'README.md') return '/index.md';
    const found = pages.get(wanted) ?? pages.get(`${wanted}/README.md`);
    const hash = anchor === undefined ? '' : `#${anchor}`;
    if (found !== undefined) return `/${found}${hash}`;
    return `${REPOSITORY}/${statSync(join(ROOT, wanted)).isDirectory() ? 'tree' : 'blob'}/main/${wanted}${hash}`;
  };
  const linked = (part) => part.replaceAll(/(?<=\]\()[^)\s]+(?=\))/gu, link).replaceAll(/(?<=^\[[^\]]+\]: )\S+$/gmu, link);
  return parts.map((part) => (part.startsWith('```') ? part : linked(part))).join('');
}

/** Scripts, styles, fonts and pictures that a page would load from elsewhere. */
function foreignResources() {
  return built(/\.(?:html|css)$/u).flatMap((name) => {
    const loads = /(?:\ssrc="|<link [^>]*href="|url\(["']?)((?:https?:)?\/\/[^"')]+)/gu;
    return [...readFileSync(join(DIST, name), 'utf8').matchAll(loads)].map(([, address]) => `/${name} loads ${address}`);
  });
}

function built(names) {
  return readdirSync(DIST, { recursive: true, encoding: 'utf8' }).filter((name) => names.test(name));
}

/** Links within the site to headings that don't exist. */
function deadAnchors() {
  const html = new Map(built(/\.html$/u).map((name) => [`/${name}`, readFileSync(join(DIST, name), 'utf8')]));
  return [...html].flatMap(([from, text]) => {
    const targets = [...text.matchAll(/href="([^"#:]*)#([^"]+)"/gu)].map(([, path, id]) => [pageAt(path, from), decodeURIComponent(id)]);
    const isDead = ([path, id]) => id !== 'VPContent' && !html.get(path)?.includes(` id="${id}"`);
    return targets.filter(isDead).map(([path, id]) => `${from}: ${path} has no heading #${id}`);
  });
}

function pageAt(path, from) {
  return path === '' ? from : new URL(path, `http://site${from}`).pathname.replace(/\/$/u, '/index.html');
}
