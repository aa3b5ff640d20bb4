import { join } from 'node:path';
import type { TopicLog } from '@headgate/topics';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { runTopics } from '../run/topics.ts';
import type { Workplace } from './headgate-process.fixture.ts';

/** Opens the log of a workplace, and creates the topics of a run. */
export async function embeddedLog(place: Workplace): Promise<TopicLog> {
  const file = join(place.folder, 'headgate.db');
  const log = await sqliteTopicLog({ file });
  await log.createTopics(
    runTopics({ topics: { driver: 'sqlite', file, group: 'headgate', lanes: 1, prefix: '', names: {} }, pipelines: [] }),
  );
  return log;
}

/** Adds jobs as another program can: values are written unchecked. Their default keys are `job 0` and so on. */
export async function addJobs(place: Workplace, service: 'followers' | 'books', values: readonly string[], key?: string): Promise<void> {
  await using log = await embeddedLog(place);
  const topic = `${service}.requests`;
  await log.append(values.map((value, i) => ({ topic, key: key ?? `job ${i}`, value })));
}
