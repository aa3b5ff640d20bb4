import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NewTopicSpec, TopicLog } from '@headgate/topics';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { topicNames } from '../topics/names.ts';
import { topicSpecs } from '../topics/topics.ts';

/** Opens an embedded log in a temporary folder, with these topics. `now`: as in `sqliteTopicLog`. */
export async function temporaryLog(
  topics: readonly NewTopicSpec[] = [],
  now = Date.now,
): Promise<AsyncDisposable & { readonly log: TopicLog }> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-pipeline-'));
  const log = await sqliteTopicLog({ file: join(folder, 'log.db'), now });
  await log.createTopics(topics);
  return {
    log,
    async [Symbol.asyncDispose]() {
      await log.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** Returns the topics of a pipeline `shelves` that defines none: only those that every pipeline has. */
export function shelvesTopics(lanes = 1): NewTopicSpec[] {
  const credentials = Array.from({ length: lanes }, (_, i) => `key-${i}`);
  return topicSpecs([{ name: 'shelves', topics: {}, credentials, usualBytes: {} }], { lanes, names: topicNames() });
}

/** Returns the log with some of its methods replaced. */
export function logWith(log: TopicLog, methods: Partial<TopicLog>): TopicLog {
  return new Proxy(log, {
    get(target, name) {
      if (name in methods) return Reflect.get(methods, name);
      const member: unknown = Reflect.get(target, name, target);
      // In Node.js 24, `await using` rejects a bound function, so wrap the method instead.
      return typeof member === 'function' ? (...given: unknown[]): unknown => Reflect.apply(member, target, given) : member;
    },
  });
}
