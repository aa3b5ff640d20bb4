// Checks Markdown against docs/style-guide.md, as far as a program can: node scripts/prose.mjs [FILE…]. Default: all covered files.
import { readFileSync } from 'node:fs';
import { proseProblems } from './lint/prose-rules.mjs';

/** Pages that follow the rules. Add a page once it is clean. */
const COVERED = [
  'CONTRIBUTING.md',
  'README.md',
  'SECURITY.md',
  'apps/pipeline/README.md',
  'docs/README.md',
  'docs/any-api.md',
  'docs/commands.md',
  'docs/configuration.md',
  'docs/consuming.md',
  'docs/embed.md',
  'docs/errors.md',
  'docs/exactly-once.md',
  'docs/glossary.md',
  'docs/kafka.md',
  'docs/observe.md',
  'docs/operators.md',
  'docs/own-pipeline.md',
  'docs/production.md',
  'docs/records.md',
  'docs/releasing.md',
  'docs/start.md',
  'docs/support.md',
  'docs/tenants.md',
  'docs/troubleshooting.md',
  'examples/avro/README.md',
  'examples/issues/README.md',
  'examples/library/README.md',
  'examples/postgres/README.md',
  'packages/auth/README.md',
  'packages/operators/README.md',
  'packages/pipeline/README.md',
  'packages/rest/README.md',
  'packages/sandbox/README.md',
  'packages/sources/README.md',
  'packages/throttle/README.md',
  'packages/topics/README.md',
];

/** Removes code blocks, comments and headings, but keeps the line numbers. */
function paragraphs(markdown) {
  const blank = (found) => found.replace(/[^\n]/gu, '');
  return markdown
    .replace(/^(```|~~~).*?^\1/gmsu, blank)
    .replace(/<!--.*?-->/gsu, blank)
    .replace(/^#.*$/gmu, blank);
}

const given = process.argv.slice(2);
let problems = 0;
for (const file of given.length > 0 ? given : COVERED) {
  const text = paragraphs(readFileSync(file, 'utf8'));
  for (const { index, found, cure } of proseProblems(text)) {
    problems += 1;
    process.stdout.write(`${file}:${text.slice(0, index).split('\n').length}: "${found.trim()}": ${cure}\n`);
  }
}
if (problems > 0) process.stdout.write(`${problems} problems. docs/style-guide.md has the rules.\n`);
process.exitCode = problems > 0 ? 1 : 0;
