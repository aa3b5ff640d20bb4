import type { AvailabilityChange, TopicLog } from '@headgate/topics';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import type { TopicsConfig } from '../config/config.ts';
import { kafkaOptions } from './kafka-options.ts';

/** Opens the log that the config names. Throws what its driver throws. */
export async function openTopicLog(config: TopicsConfig, onAvailability?: (change: AvailabilityChange) => void): Promise<TopicLog> {
  const told = onAvailability !== undefined && { onAvailability };
  switch (config.driver) {
    case 'sqlite':
      return await sqliteTopicLog({ file: config.file, ...told });
    case 'kafka': {
      // Half of what the program loads, and nothing to those who write a file.
      const { kafkaTopicLog } = await import('@headgate/topics/kafka');
      return await kafkaTopicLog({ ...kafkaOptions(config), ...told });
    }
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
