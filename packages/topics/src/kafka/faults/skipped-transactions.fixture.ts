import { readFile } from 'node:fs/promises';

/** Environment variables with which a broker logs what happens to the end markers of each transaction. */
export const LOGS_MARKERS = {
  JDK_JAVA_OPTIONS: '-Dorg.slf4j.simpleLogger.log.kafka.coordinator.transaction.TransactionMarkerChannelManager=trace',
};

const STARTS = /TransactionMarkerChannelManager - .*Starting/u;
const SKIPS =
  /Couldn't find leader endpoint for partitions Set\((?<partitions>.*)\) while trying to send transaction markers for (?<id>\S+), these/u;
const ENDS =
  /Sending (?<id>\S+)'s transaction markers for .*producerId=(?<producer>\d+).*producerEpoch=(?<epoch>\d+).*txnStartTimestamp=(?<start>\d+)/u;
const HAS_ENDED = /Completed transaction for (?<id>\S+) with coordinator epoch \d+, final state after commit: (?<state>\S+)$/u;

/**
 * Reads from a broker's log which transactions it has reported as committed, but whose end markers it skipped in some partitions. Each is named by
 * transactional ID, producer ID, epoch and start. Omits transactions that the broker ended properly after a restart, or aborted.
 */
export async function skippedTransactions(logFile: string): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  const skipped = new Set<string>();
  const ending = new Map<string, string>();
  for (const line of (await readFile(logFile, 'utf8')).split('\n')) {
    if (STARTS.test(line)) {
      skipped.clear();
      ending.clear();
    }
    const skips = SKIPS.exec(line)?.groups?.['id'];
    if (skips !== undefined) skipped.add(skips);
    const ends = ENDS.exec(line)?.groups;
    if (ends !== undefined) ending.set(ends['id'] ?? '', `${ends['producer']} ${ends['epoch']} ${ends['start']}`);
    const ended = HAS_ENDED.exec(line)?.groups;
    if (ended === undefined) continue;
    const id = ended['id'] ?? '';
    if (skipped.delete(id) && ended['state'] === 'COMPLETE_COMMIT') found.add(`${id} ${ending.get(id)}`);
  }
  return found;
}
