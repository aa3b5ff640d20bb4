// Writes reports of everything that each entry exports, with its types, to docs/api.
//   npm run api                  writes the reports from the build output
//   npm run api -- --check       exits with 1 if a report differs, or lacks a doc comment
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CompilerState, Extractor, ExtractorConfig } from '@microsoft/api-extractor';
import { publishedPackages } from '../release/packages.ts';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const kept = join(root, 'docs/api');
const fresh = mkdtempSync(join(tmpdir(), 'headgate-api-'));
process.on('exit', () => rmSync(fresh, { recursive: true, force: true }));

const configs = publishedPackages(root).flatMap((published) => entries(published).map((entry) => configOf(published, entry)));
// One TypeScript program for all entries, because one for each would be slower.
const additionalEntryPoints = configs.map(({ mainEntryPointFilePath }) => mainEntryPointFilePath);
const compilerState = CompilerState.create(configs[0], { additionalEntryPoints });
for (const config of configs) {
  mkdirSync(config.reportTempFolder, { recursive: true });
  const messageCallback = (message) => {
    // The reports contain the messages that matter.
    message.handled = true;
  };
  Extractor.invoke(config, { localBuild: true, compilerState, messageCallback });
}

const names = reportsIn(fresh);
if (process.argv.includes('--check')) {
  const differing = [...new Set([...names, ...reportsIn(kept)])].filter((name) => textOf(fresh, name) !== textOf(kept, name));
  const problems = [
    ...differing.map((name) => `docs/api/${name} differs from the code. \`npm run api\` writes it.`),
    ...names.flatMap((name) =>
      undocumentedIn(textOf(fresh, name)).map((line) => `docs/api/${name}: no doc comment says what this is for: ${line}`),
    ),
  ];
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  process.exitCode = problems.length > 0 ? 1 : 0;
} else {
  rmSync(kept, { recursive: true, force: true });
  for (const name of names) {
    mkdirSync(dirname(join(kept, name)), { recursive: true });
    writeFileSync(join(kept, name), textOf(fresh, name));
  }
}

/** The first lines of the exports and members without a doc comment, according to API Extractor. */
function undocumentedIn(report) {
  const lines = report.split('\n');
  return lines.flatMap((line, i) => (/^\s*\/\/.*\(undocumented\)$/.test(line) ? [lines[i + 1].trim()] : []));
}

function entries({ manifest }) {
  return Object.entries(manifest.exports)
    .filter(([path, target]) => typeof target === 'object' && !path.endsWith('/worker'))
    .map(([path, { types }]) => ({ name: path === '.' ? 'index' : path.slice(2).replaceAll('/', '.'), types }));
}

function configOf({ folder, manifest }, { name, types }) {
  const reportFolder = join(fresh, manifest.name.replace('@headgate/', ''));
  const compilerOptions = { module: 'nodenext', target: 'es2024', lib: ['esnext'], types: ['node'], strict: true, skipLibCheck: true };
  const silent = { default: { logLevel: 'none' } };
  return ExtractorConfig.prepare({
    configObject: {
      projectFolder: folder,
      mainEntryPointFilePath: join(folder, types),
      newlineKind: 'lf',
      compiler: { overrideTsconfig: { compilerOptions: { ...compilerOptions, exactOptionalPropertyTypes: true }, files: [types] } },
      apiReport: { enabled: true, reportFolder, reportTempFolder: reportFolder, reportFileName: name },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: { compilerMessageReporting: silent, extractorMessageReporting: silent, tsdocMessageReporting: silent },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(folder, 'package.json'),
  });
}

function reportsIn(folder) {
  return existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md')) : [];
}

function textOf(folder, name) {
  const path = join(folder, name);
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}
