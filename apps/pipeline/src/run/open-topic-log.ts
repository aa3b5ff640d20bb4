import type { TopicLog } from '@headgate/topics';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import type { TopicsConfig } from '../config/config.ts';

class DriverMissingError extends Error {
  override readonly name = 'DriverMissingError';
  readonly code = 'HEADGATE_DRIVER_MISSING';
  readonly retryable = false;
}

/** Opens the log that the config names. Throws what its driver throws. */
export async function openTopicLog(config: TopicsConfig): Promise<TopicLog> {
  switch (config.driver) {
    case 'sqlite':
      return await sqliteTopicLog({ file: config.file });
    case 'kafka':
      throw new DriverMissingError('topics.driver: this release of headgate writes to the embedded log only. Use driver: sqlite.');
  }
}

/** Where records are, for people. */
export function logAddress(config: TopicsConfig): string {
  switch (config.driver) {
    case 'sqlite':
      return config.file;
    case 'kafka':
      return `kafka ${config.brokers.join(', ')}`;
  }
}
