import type { TopicLog } from '@headgate/topics';
import { TOPICS, statePartition } from '../records/topic-names.ts';
import { laneKeys } from './lane-keys.ts';
import { BUDGET, type JournalEntryRecord } from './lane-journal.ts';

export interface InheritedBudgetsOptions {
  readonly log: TopicLog;
  readonly group: string;
  readonly service: 'followers' | 'books';
  readonly lane: number;
  readonly lanes: number;
}

/**
 * How budgets stood in the other lanes: a credential that has come from one of them, since lanes or credentials were changed, goes on with
 * what it used there. What is older than its window says nothing any more.
 */
export async function inheritedBudgets({
  log,
  group,
  service,
  lane,
  lanes,
}: InheritedBudgetsOptions): Promise<readonly JournalEntryRecord[]> {
  const others = Array.from({ length: lanes }, (_, other) => other).filter((other) => other !== lane);
  const found = others.map(async (other) => {
    const state = await log.readState(TOPICS.state, statePartition(service, other));
    const keys = laneKeys({ group, service, lane: other });
    return keys.under(state, BUDGET).map(({ key, value, ageMs }) => ({ credential: key, value, ageMs }) as JournalEntryRecord);
  });
  return (await Promise.all(found)).flat();
}
