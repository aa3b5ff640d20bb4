import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** All that is committed in a topic of one partition. */
export interface Written {
  readonly records: number;
  readonly ids: number;
  /** SHA-256 of the ids in their order, a line each. */
  readonly idsDigest: string;
  /** SHA-256 of all keys and values in their order. */
  readonly digest: string;
}

const WRITTEN = fileURLToPath(new URL('./written.py', import.meta.url));
const run = promisify(execFile);

/** Looks at topics by librdkafka, and at an embedded log by Python's SQLite: Headgate's own readers aren't asked. */
export function writtenBy(python: string) {
  const told = async (...args: readonly string[]): Promise<string> => (await run(python, [WRITTEN, ...args])).stdout;
  return {
    makeTopics: (brokers: readonly string[], topics: readonly string[]) => told('make', brokers.join(), ...topics),
    clearTopics: (brokers: readonly string[]) => told('clear', brokers.join()),
    topic: async (brokers: readonly string[], topic: string) => JSON.parse(await told('read', brokers.join(), topic)) as Written,
    embedded: async (file: string, topic: string) => JSON.parse(await told('select', file, topic)) as Written,
    /** Resolves when a reader waits at the end of a topic; `cameAtMs` when it has the first record, in ms since 1970. */
    async firstRecord(brokers: readonly string[], topic: string): Promise<{ readonly cameAtMs: Promise<number> }> {
      const reader = spawn(python, [WRITTEN, 'first', brokers.join(), topic], { stdio: ['ignore', 'pipe', 'inherit'] });
      const lines = createInterface(reader.stdout);
      await once(lines, 'line');
      return { cameAtMs: once(lines, 'line').then(([line]) => Number(line)) };
    },
  };
}
