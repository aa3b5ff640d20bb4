import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** The committed records of a topic with one partition. */
export interface Written {
  readonly records: number;
  readonly ids: number;
  /** SHA-256 of the IDs in order, one per line. */
  readonly idsDigest: string;
  /** SHA-256 of all keys and values in order. */
  readonly digest: string;
}

const WRITTEN = fileURLToPath(new URL('./written.py', import.meta.url));
const run = promisify(execFile);

/** Reads topics with librdkafka, and embedded logs with Python's SQLite, so that the check doesn't depend on Headgate's readers. */
export function writtenBy(python: string) {
  const told = async (...args: readonly string[]): Promise<string> => (await run(python, [WRITTEN, ...args])).stdout;
  return {
    makeTopics: (brokers: readonly string[], topics: readonly string[]) => told('make', brokers.join(), ...topics),
    clearTopics: (brokers: readonly string[]) => told('clear', brokers.join()),
    topic: async (brokers: readonly string[], topic: string) => JSON.parse(await told('read', brokers.join(), topic)) as Written,
    embedded: async (file: string, topic: string) => JSON.parse(await told('select', file, topic)) as Written,
    /** Resolves when a reader waits at the end of a topic. `cameAtMs` resolves when that reader has the first records, to their arrivals, epoch ms. */
    async firstRecords(
      brokers: readonly string[],
      topic: string,
      count: number,
    ): Promise<{ readonly cameAtMs: Promise<readonly number[]> }> {
      const reader = spawn(python, [WRITTEN, 'first', brokers.join(), topic, String(count)], { stdio: ['ignore', 'pipe', 'inherit'] });
      const lines = createInterface(reader.stdout);
      await once(lines, 'line');
      return { cameAtMs: once(lines, 'line').then(([line]) => JSON.parse(String(line)) as readonly number[]) };
    },
  };
}
