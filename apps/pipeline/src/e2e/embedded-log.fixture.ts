import { join } from 'node:path';
import type { TopicLog } from '@headgate/topics';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { requestsTopic, topicSpecs } from '../records/topic-names.ts';
import type { Workplace } from './headgate-process.fixture.ts';

/** The log of a place, which nobody works meanwhile. */
export async function embeddedLog(place: Workplace): Promise<TopicLog> {
  const log = await sqliteTopicLog({ file: join(place.folder, 'headgate.db') });
  await log.createTopics(topicSpecs(1));
  return log;
}

/** Adds wishes as any program may: values are written as they are. Their key: default `wish 0` and so on. */
export async function addWishes(place: Workplace, service: 'followers' | 'books', values: readonly string[], key?: string): Promise<void> {
  await using log = await embeddedLog(place);
  const topic = requestsTopic(service);
  await log.append(values.map((value, i) => ({ topic, key: key ?? `wish ${i}`, value })));
}
