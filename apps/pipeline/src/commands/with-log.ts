import type { Clock } from '@headgate/throttle';
import { pause } from '@headgate/throttle/internal';
import type { TopicLog } from '@headgate/topics';
import type { TopicsConfig } from '../config/topics-section.ts';
import { openTopicLog } from '../run/open-topic-log.ts';

/** Maximum time for the log to respond, ms. The log waits for unreachable brokers without a limit, but a check must report them. */
export const ANSWER_WITHIN_MS = 14_000;

/** Waits for work with the log, at most `ms`. After that, rejects with the reason why the log can't be reached, if known. */
export type Within = <Value>(ms: number, work: Promise<Value>) => Promise<Value>;

/** Opens the log, passes it to `work`, and closes it. Closing the log ends unfinished work. */
export async function withLog<Value>(
  { topics, clock }: { readonly topics: TopicsConfig; readonly clock: Clock },
  work: (log: TopicLog, within: Within) => Promise<Value>,
): Promise<Value> {
  let missing: string | undefined;
  const log = await openTopicLog(topics, (change) => (missing = change.available ? undefined : change.reason));
  const over = new AbortController();
  const within: Within = (ms, wanted) =>
    Promise.race([
      wanted,
      pause({ clock, ms, signal: over.signal }).then(() => Promise.reject(new Error(missing ?? `no response within ${ms / 1_000} s`))),
    ]);
  try {
    return await work(log, within);
  } finally {
    over.abort();
    await log.close();
  }
}
