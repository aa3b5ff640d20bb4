import type { LogView } from '@headgate/pipeline';
import type { StateReading, TopicLog } from '@headgate/topics';

export interface LogViewOptions {
  /** Absent where there is none yet. */
  readonly log: TopicLog | undefined;
  /** How many partitions each topic has that is there. */
  readonly partitions: ReadonlyMap<string, number>;
}

/** Looks at a log without making anything there. */
export function logView({ log, partitions }: LogViewOptions): LogView {
  const isThere = (topic: string, partition: number): boolean => partition < (partitions.get(topic) ?? 0);
  return {
    async *readBytes(options) {
      const { topic, partitions: wanted } = options;
      const there = wanted?.filter((partition) => isThere(topic, partition));
      if (log === undefined || !isThere(topic, 0) || there?.length === 0) return;
      yield* log.readBytes({ ...options, ...(there !== undefined && { partitions: there }) });
    },
    readState: async (topic, partition) =>
      log !== undefined && isThere(topic, partition) ? await log.readState(topic, partition) : noState(),
  };
}

function noState(): StateReading {
  return Object.assign(new Map<string, string>(), { ageMs: () => 0 });
}
