import { access } from 'node:fs/promises';
import { isAbsolute, relative } from 'node:path';
import type { Pipeline } from '@headgate/pipeline';
import type { SchemaRegistry } from '@headgate/registry';
import type { AvailabilityChange, TopicLog } from '@headgate/topics';
import type { SqliteRetention } from '@headgate/topics/sqlite';
import type { TopicsConfig } from '../config/topics-section.ts';
import { kafkaOptions } from './kafka-options.ts';

export interface OpenToWorkOptions {
  /** Whether to open the log only for reading: an embedded log is neither created nor changed. Default: false. */
  readonly readOnly?: boolean;
  /** Whether an embedded log deletes records that are older than `retain`, except state, jobs and dead letters. Default: false. */
  readonly deleteOld?: boolean;
  /** The registry by which readers decode. Default: a new client of the one that the configuration names. */
  readonly registry?: SchemaRegistry | undefined;
}

/** Opens the log that the config names. Throws what its driver throws. */
export async function openTopicLog(
  config: TopicsConfig,
  onAvailability?: (change: AvailabilityChange) => void,
  { deleteOld = false, readOnly = false, registry: given }: OpenToWorkOptions = {},
): Promise<TopicLog> {
  const listener = onAvailability !== undefined && { onAvailability };
  // Load only the driver in use.
  switch (config.driver) {
    case 'sqlite': {
      const { sqliteTopicLog } = await import('@headgate/topics/sqlite');
      return await sqliteTopicLog({
        file: config.file,
        readOnly,
        ...listener,
        ...(deleteOld && config.retain !== undefined && { retention: retention(config, config.retain) }),
      });
    }
    case 'kafka': {
      const { kafkaTopicLog } = await import('@headgate/topics/kafka');
      const registry = given ?? (await openRegistry(config));
      const log = await kafkaTopicLog({ ...kafkaOptions(config), ...listener });
      return registry === undefined ? log : (await import('@headgate/registry')).decodedLog(log, registry);
    }
  }
}

/** A client of the schema registry that the configuration names, if any. Sends no request yet. */
export async function openRegistry(config: TopicsConfig): Promise<SchemaRegistry | undefined> {
  if (config.driver !== 'kafka' || config.registry === undefined) return undefined;
  const { schemaRegistry } = await import('@headgate/registry');
  return schemaRegistry(config.registry);
}

/** The pipelines, whose records have the formats of their topics. */
export async function inFormats(pipelines: readonly Pipeline[], registry: SchemaRegistry | undefined): Promise<readonly Pipeline[]> {
  if (registry === undefined) return pipelines;
  const { withRegistry } = await import('@headgate/registry');
  return pipelines.map((pipeline) => withRegistry(pipeline, registry));
}

/**
 * Keeps all jobs and dead letters, as on Kafka. A finished job decides whether a later one with `once` repeats it. This includes jobs of
 * pipelines that the configuration no longer has, because they wait for those pipelines.
 */
function retention({ names }: TopicsConfig, maxAgeMs: number): SqliteRetention {
  const isKept = (topic: string): boolean => topic.endsWith('.requests') || topic.endsWith('.dead-letters');
  const renamed = new Set(Object.entries(names).flatMap(([topic, name]) => (isKept(topic) ? [name] : [])));
  return { maxAgeMs, keep: (topic) => isKept(topic) || renamed.has(topic) };
}

/**
 * Whether the log already exists. Opening an embedded log would create it. Other logs count as existing. So does a log that this user can't
 * reach, whose driver says why.
 */
export async function logExists(config: TopicsConfig): Promise<boolean> {
  if (config.driver !== 'sqlite') return true;
  return await access(config.file).then(
    () => true,
    ({ code }: NodeJS.ErrnoException) => code !== 'ENOENT' && code !== 'ENOTDIR',
  );
}

export function logAddress(config: TopicsConfig): string {
  switch (config.driver) {
    case 'sqlite':
      return config.file;
    case 'kafka':
      return `kafka ${config.brokers.join(', ')}`;
  }
}

/** The log's location for a display. A file within `cwd` is shown relative to it. */
export function logShown(config: TopicsConfig, cwd: string): string {
  const address = logAddress(config);
  const within = config.driver === 'sqlite' ? relative(cwd, address) : '';
  return within === '' || isAbsolute(within) || within.startsWith('..') ? address : within;
}
