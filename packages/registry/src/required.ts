import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** Loads an optional package at once, because the sections of a configuration are parsed synchronously. */
export function required(name: 'avsc' | 'protobufjs'): unknown {
  try {
    return require(name);
  } catch (cause) {
    throw new Error(`${name} isn't installed. Run: npm install ${name}`, { cause });
  }
}
