// Writes the reference of all exports as Markdown pages for the site: a folder for each package and entry, and an index.
//   node reference.mjs OUT_DIR      replaces OUT_DIR with the pages
// Exits with 1 if a link leads nowhere, or if an export uses a type that no entry exports.
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Application, Converter, ReflectionKind } from 'typedoc';
import { load } from 'typedoc-plugin-markdown';
import { publishedPackages } from '../release/packages.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const out = resolve(process.argv[2]);

/**
 * Types that exports use although no entry exports them. A pipeline's definition only passes the types of `@headgate/pipeline` on, and never
 * creates or reads them. The `options` are schemas, which the configuration's reference describes.
 */
const NOT_EXPORTED = {
  '@headgate/pipeline': ['ChosenAgain', 'Job', 'Lane', 'Schema', 'Tracing', 'JobRecord', 'JobValueOf'],
  '@headgate/throttle': ['NextReset'],
  '@headgate/rest': ['Contract', 'Jobs', 'Style', 'Zone'],
  headgate: ['src/pipelines/books.ts:options', 'src/pipelines/followers.ts:options'],
};

const published = publishedPackages(root);
const entries = published.flatMap(entriesOf);
const app = await Application.bootstrapWithPlugins({
  name: 'Headgate',
  entryPoints: entries.map(({ file }) => file),
  basePath: root,
  tsconfig: join(root, 'tsconfig.json'),
  // tsc has already checked the types, in another version of TypeScript.
  skipErrorChecking: true,
  excludeExternals: true,
  disableSources: true,
  readme: 'none',
  logLevel: 'Warn',
  validation: { notExported: false, invalidLink: true, invalidPath: true, rewrittenLink: true },
  plugin: [load],
  outputs: [{ name: 'markdown', path: out }],
  router: 'member',
  entryFileName: 'index',
  excludeScopesInPaths: true,
  hideBreadcrumbs: true,
  hidePageHeader: true,
  useCodeBlocks: true,
  indexFormat: 'table',
  parametersFormat: 'table',
});
app.converter.on(Converter.EVENT_CREATE_DECLARATION, (_, reflection) => {
  if (!reflection.kindOf(ReflectionKind.Module)) return;
  reflection.name = entries.find(({ file }) => relative(root, file).replace(/(\/index)?\.ts$/, '') === reflection.name).name;
});
app.converter.on(Converter.EVENT_CREATE_PARAMETER, (_, reflection) => {
  // A destructured parameter has no name, so the reference calls it `options`.
  if (reflection.name === '__namedParameters') reflection.name = 'options';
});

const project = await app.convert();
if (project === undefined) process.exit(1);
app.validate(project);
for (const one of published) assertExported(one);
await app.generateOutputs(project);
if (app.logger.hasErrors() || app.logger.hasWarnings()) process.exitCode = 1;

/** Warns of each type that an export of the package uses but no entry exports. TypeDoc checks only the types of the project's own package. */
function assertExported({ folder, manifest }) {
  const { options } = app;
  const { packageName } = project;
  app.options = options.copyForPackage(folder);
  app.options.setValue('validation', { notExported: true, invalidLink: false, unusedMergeModuleWith: false });
  app.options.setValue('intentionallyNotExported', NOT_EXPORTED[manifest.name] ?? []);
  project.packageName = manifest.name;
  app.validate(project);
  project.packageName = packageName;
  app.options = options;
}

function entriesOf({ folder, manifest }) {
  return Object.entries(manifest.exports)
    .filter(([path, target]) => typeof target === 'object' && !path.endsWith('/worker'))
    .map(([path, target]) => ({ name: manifest.name + path.slice(1), file: join(folder, target['@headgate/source']) }));
}
