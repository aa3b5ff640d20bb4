import { access } from 'node:fs/promises';
import type { AvailabilityChange, TopicLog } from '@headgate/topics';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import type { TopicsConfig } from '../config/topics-section.ts';
import { kafkaOptions } from './kafka-options.ts';

/** Opens the log that the config names. `onMissingRight`: as of the driver that knows users, default 'throw'. Throws what its driver throws. */
export async function openTopicLog(
  config: TopicsConfig,
  onAvailability?: (change: AvailabilityChange) => void,
  onMissingRight: 'throw' | 'wait' = 'throw',
): Promise<TopicLog> {
  const told = onAvailability !== undefined && { onAvailability };
  switch (config.driver) {
    case 'sqlite':
      return await sqliteTopicLog({ file: config.file, ...told });
    case 'kafka': {
      // Half of what the program loads, and nothing to those who write a file.
      const { kafkaTopicLog } = await import('@headgate/topics/kafka');
      return await kafkaTopicLog({ ...kafkaOptions(config), ...told, onMissingRight });
    }
  }
}

/** Whether there is a log already: opening an embedded one makes it. A cluster is there, or can't be opened. */
export async function isLogThere(config: TopicsConfig): Promise<boolean> {
  if (config.driver !== 'sqlite') return true;
  return await access(config.file).then(
    () => true,
    () => false,
  );
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
