import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type DefinitionInfo, topicNames } from '@headgate/pipeline';
import { withBuiltIn } from '../config/built-in.ts';
import { openConfig } from '../config/config-file.ts';
import { DEFAULT_FILE } from '../config/default-file.ts';
import type { KafkaTopicsConfig, TopicsConfig } from '../config/topics-section.ts';
import { type TopicSchema, topicSchemas } from '../records/topic-schemas.ts';
import { runTopics } from '../run/topics.ts';
import { version } from '../version.ts';
import type { CommandContext } from './command-context.ts';

type Described = Readonly<{ topics: TopicsConfig; definitions: readonly DefinitionInfo[] }>;

/**
 * Writes an AsyncAPI document of the pipelines' topics to stdout, even if secrets are missing, except those of a section with `use: rest`.
 * Resolves to the exit code.
 */
export async function asyncapi(context: CommandContext): Promise<number> {
  context.stdout.write(`${JSON.stringify(asyncapiDocument(await described(context)), undefined, 2)}\n`);
  return 0;
}

/** Reads the configuration. If the default file doesn't exist, uses the built-in pipelines instead. */
async function described(context: CommandContext): Promise<Described> {
  if (context.file === DEFAULT_FILE && !existsSync(join(context.cwd, DEFAULT_FILE))) {
    const topics = { driver: 'sqlite', file: '', group: 'headgate', lanes: 1, prefix: '', names: {} } as const;
    return { topics, definitions: withBuiltIn([]) };
  }
  const config = await openConfig(context);
  const definitions = config.pipelineNames.flatMap((name) => config.definition(name) ?? []);
  return { topics: config.topics(), definitions };
}

/** Returns an AsyncAPI 3.0 document of the pipelines' topics. */
export function asyncapiDocument({ topics, definitions }: Described): object {
  const names = topicNames(topics);
  const all = definitions.flatMap((definition) =>
    topicSchemas(definition, 'draft-7').map((one) => ({ ...one, pipeline: definition.name })),
  );
  const specs = new Map(runTopics({ topics, pipelines: [], definitions }).map((spec) => [spec.name, spec]));
  const readable = all.filter(({ kind }) => kind !== 'state');
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Topics of Headgate',
      version: version(),
      description:
        'Records that Headgate writes, and jobs that it reads. IDs are strings of digits: they can exceed the range of a JavaScript number. ' +
        'Read committed records only (isolation.level=read_committed).',
    },
    defaultContentType: 'application/json',
    ...(topics.driver === 'kafka' && { servers: servers(topics) }),
    channels: Object.fromEntries(
      all.map(({ topic, kind }) => {
        const address = names(topic);
        const { partitions, compacted = false } = specs.get(address) ?? {};
        const kafka = {
          topic: address,
          ...(partitions !== undefined && { partitions }),
          ...(compacted && { topicConfiguration: { 'cleanup.policy': ['compact'] } }),
          bindingVersion: '0.5.0',
        };
        return [
          topic,
          {
            address,
            description: DESCRIPTIONS[kind],
            messages: { record: { $ref: `#/components/messages/${topic}` } },
            ...(topics.driver === 'kafka' && { bindings: { kafka } }),
          },
        ];
      }),
    ),
    operations: Object.fromEntries(
      readable.map(({ topic, kind }) => [
        `${kind === 'requests' ? 'receive' : 'send'}.${topic}`,
        { action: kind === 'requests' ? 'receive' : 'send', channel: { $ref: `#/channels/${topic}` } },
      ]),
    ),
    components: {
      messages: Object.fromEntries(all.map((one) => [one.topic, message(one)])),
      schemas: Object.fromEntries(
        all.flatMap((one): [string, object][] => [
          [schemaName(one.topic), one.value],
          ...(hasHeaders(one) ? [[`${schemaName(one.topic)}Headers`, headersOf(one)] as [string, object]] : []),
        ]),
      ),
    },
  };
}

const DESCRIPTIONS: Readonly<Record<TopicSchema['kind'], string>> = {
  records: 'Records from responses of the service.',
  requests: 'Jobs for a run. Any client can add more. Jobs with the same key go to the same lane.',
  'dead-letters': 'Jobs and records that failed for good, with their errors. `headgate replay` re-enqueues jobs.',
  state: 'Checkpoints of lanes, compacted. For internal use: the format may change.',
};

function servers({ brokers, ssl }: KafkaTopicsConfig): object {
  const protocol = ssl === false ? 'kafka' : 'kafka-secure';
  return Object.fromEntries(brokers.map((host, i) => [`broker-${i + 1}`, { host, protocol }]));
}

/** The name of a topic's schema, such as `FollowersDeadLetters`. Code generators can use it as the name of a type. */
function schemaName(topic: string): string {
  return topic.replaceAll(/(?:^|[^A-Za-z\d]+)([A-Za-z\d])/g, (_, letter: string) => letter.toUpperCase());
}

function hasHeaders({ kind }: TopicSchema): boolean {
  return kind === 'records' || kind === 'dead-letters';
}

function headersOf({ topic, pipeline, contentType }: TopicSchema & { readonly pipeline: string }): object {
  const name = topic.slice(pipeline.length + 1);
  const text = { type: 'string' };
  return {
    type: 'object',
    description: 'CloudEvents in binary mode. Records of single items of a page carry no headers.',
    properties: {
      ce_specversion: { const: '1.0' },
      ce_id: { ...text, description: 'Deterministic ID: the same if the record is written again.' },
      ce_source: { const: `/${pipeline}` },
      ce_type: { const: `headgate.${pipeline}.${name}` },
      ce_time: { ...text, format: 'date-time' },
      'content-type': { const: contentType },
    },
  };
}

function message(one: TopicSchema & { readonly pipeline: string }): object {
  const { topic, key, contentType } = one;
  const of = `#/components/schemas/${schemaName(topic)}`;
  return {
    name: topic,
    contentType,
    ...(hasHeaders(one) && { headers: { $ref: `${of}Headers` } }),
    payload: { $ref: of },
    bindings: { kafka: { key, bindingVersion: '0.5.0' } },
  };
}
