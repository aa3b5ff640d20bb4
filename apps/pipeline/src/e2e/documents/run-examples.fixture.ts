// Runs example programs one after another in one process, each in its own folder, because loading the packages takes most of the time.
//   node run-examples.fixture.ts LIST     LIST is JSON: { file, cwd }[]. Writes one line of JSON per program: { failed?, output }
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
    // Output and errors in the next turn of the event loop still belong to this example.
    await new Promise((resolve) => setImmediate(resolve));
  } catch (error) {
    failed ??= inspect(error);
  }
  tell(`${JSON.stringify({ failed, output })}\n`);
}
process.exit(0);
