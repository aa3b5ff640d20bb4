// Runs example programs one after another in one process, each in a folder of its own: most of what a process costs is to load the packages.
//   node run-examples.fixture.ts LIST     a JSON list of { file, cwd }; stdout gets a line of JSON for each: { failed?, output }
import { readFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';

const tell = process.stdout.write.bind(process.stdout);
const examples = JSON.parse(await readFile(process.argv[2] ?? '', 'utf8')) as readonly { readonly file: string; readonly cwd: string }[];
let output = '';
let failed: string | undefined;
process.stdout.write = (text: string | Uint8Array): boolean => {
  output += typeof text === 'string' ? text : Buffer.from(text).toString();
  return true;
};
process.on('unhandledRejection', (error) => (failed ??= inspect(error)));
process.on('uncaughtException', (error) => (failed ??= inspect(error)));

for (const { file, cwd } of examples) {
  output = '';
  failed = undefined;
  process.chdir(cwd);
  try {
    await import(pathToFileURL(file).href);
    // What it left to the next turn of the event loop is its own.
    await new Promise((resolve) => setImmediate(resolve));
  } catch (error) {
    failed ??= inspect(error);
  }
  tell(`${JSON.stringify({ failed, output })}\n`);
}
process.exit(0);
