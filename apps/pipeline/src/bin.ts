#!/usr/bin/env -S node --max-semi-space-size=8 --v8-pool-size=1 --no-concurrent-recompilation
// Checks the version of Node before importing main.ts, which can fail on an older version with a syntax error or a missing export.
const NEEDED = [22, 19] as const;
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])) {
  await import('./main.ts');
} else {
  process.stderr.write(`headgate needs Node ${NEEDED.join('.')} or later; this is ${process.versions.node}.\n`);
  process.exitCode = 2;
}
