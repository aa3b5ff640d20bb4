import type { TopicLog } from '../../topic-log.ts';

export interface SteadyWriter {
  readonly written: readonly string[];
  /** The values that a following reader has read so far. */
  readonly read: readonly (string | null)[];
  /** Writes the next number in a transaction. */
  readonly write: () => Promise<void>;
  /** Resolves to the reader's error; `undefined` if the reader was closed. */
  readonly readerEnded: Promise<unknown>;
  /** Closes the reader and the log. Throws if the reader has failed. */
  readonly close: () => Promise<void>;
}

/** Opens a lane of a log, and a reader of the records that the lane writes. */
export async function steadyWriter({ log, name }: { readonly log: TopicLog; readonly name: string }): Promise<SteadyWriter> {
  const [records, state] = [`records-of-${name}`, `state-of-${name}`];
  await log.createTopics([
    { name: records, partitions: 1 },
    { name: state, partitions: 1, compacted: true },
  ]);
  const lane = await log.openLane({ name, state: { topic: state, partition: 0 } });
  const reader = log.read({ topic: records, follow: true });
  const [written, read]: [string[], (string | null)[]] = [[], []];
  const readAll = async (): Promise<void> => {
    for await (const { value } of reader) read.push(value);
  };
  const readerEnded = readAll().catch((error: unknown) => error);
  return {
    written,
    read,
    readerEnded,
    async write() {
      const value = String(written.length);
      await lane.transaction((tx) => tx.append([{ topic: records, partition: 0, key: null, value }]));
      written.push(value);
    },
    async close() {
      await reader.close();
      const failure = await readerEnded;
      await log.close();
      if (failure !== undefined) throw failure;
    },
  };
}
