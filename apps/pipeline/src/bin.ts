#!/usr/bin/env -S node --max-semi-space-size=4 --min-semi-space-size=4 --v8-pool-size=1
// What is written here must run on any Node: one that is too old would say a syntax error of main.ts, or an export that it lacks.
const NEEDED = [22, 19] as const;
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])) {
  await import('./main.ts');
} else {
  process.stderr.write(`headgate needs Node ${NEEDED.join('.')} or later; this is ${process.versions.node}.\n`);
  process.exitCode = 2;
}
