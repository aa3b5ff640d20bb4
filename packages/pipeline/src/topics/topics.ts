import type { CreatedTopics, NewTopicSpec } from '@headgate/topics';
import { GROUP_STATE, lanesOf, requestsTopic, stateTopic } from './names.ts';
import { PipelineError } from '../settings/pipeline-error.ts';
import { DEAD_LETTERS } from './dead-letter.ts';
import type { TopicMap, TopicNames } from './topic.ts';

/** Record size that topics must accept, in bytes. A dead letter without its content is smaller. */
const MIN_RECORD_BYTES = 16_384;
/** Record size that state topics must accept, in bytes. */
const MIN_STATE_BYTES = 65_536;
/** Record size that state topics should accept, in bytes. If one doesn't, the log only warns. */
const USUAL_STATE_BYTES = 524_288;

/** The part of a pipeline that determines its topics. */
export interface PipelineTopics {
  /** Name of the pipeline. */
  readonly name: string;
  /** The pipeline's topics, by their names within the pipeline. */
  readonly topics: TopicMap;
  /** Names of the credentials that lanes divide. Undefined if the pipeline has one lane. */
  readonly credentials: readonly string[] | undefined;
  /** Usual size of the records in some topics, in bytes. */
  readonly usualBytes: Readonly<Record<string, number | undefined>>;
  /** True if the pipeline's records can include further requests of the same pipeline. Default: false. */
  readonly makesRequests?: boolean;
}

/** Returns the topics of a pipeline whose options aren't known. */
export function definedTopics({
  name,
  topics,
  splitsCredentials,
}: {
  readonly name: string;
  readonly topics: TopicMap;
  readonly splitsCredentials: boolean;
}): PipelineTopics {
  return { name, topics, credentials: splitsCredentials ? [] : undefined, usualBytes: {} };
}

/** Returns every topic of a run. Throws a `PipelineError` (HEADGATE_DEFINITION) if two of them have the same name. */
export function topicSpecs(
  pipelines: readonly PipelineTopics[],
  { lanes, names }: { readonly lanes: number; readonly names: TopicNames },
): NewTopicSpec[] {
  const state = { compacted: true, minRecordBytes: MIN_STATE_BYTES, usualRecordBytes: USUAL_STATE_BYTES };
  const specs = pipelines.flatMap((pipeline): NewTopicSpec[] => {
    const partitions = lanesOf(pipeline, lanes);
    const minRecordBytes = MIN_RECORD_BYTES;
    const own = Object.entries(pipeline.topics).map(([topic, definition]) => ({
      name: names(`${pipeline.name}.${topic}`),
      partitions: definition.partitions ?? partitions,
      ...(definition.compacted === true ? { compacted: true, fixedPartitions: true } : { namesPartitions: true }),
      minRecordBytes,
      ...(pipeline.usualBytes[topic] !== undefined && { usualRecordBytes: pipeline.usualBytes[topic] }),
    }));
    return [
      { name: requestsTopic(pipeline, names), partitions, minRecordBytes, keepsRecords: true },
      ...own,
      { name: names(`${pipeline.name}.${DEAD_LETTERS}`), partitions, minRecordBytes, keepsRecords: true },
      { name: stateTopic(pipeline, names), partitions, ...state },
    ];
  });
  specs.push({ name: names(GROUP_STATE), partitions: 1, ...state });
  const seen = new Set<string>();
  for (const { name } of specs) {
    if (seen.has(name))
      throw new PipelineError({
        code: 'HEADGATE_DEFINITION',
        message: `Two topics of this run are called ${name}. Rename one of them.`,
      });
    seen.add(name);
  }
  return specs;
}

/** Added partitions: `followers.requests (1 to 2), followers.pages (1 to 2)`. */
export function growthWords(grown: CreatedTopics['grown']): string {
  return grown.map(({ topic, from, to }) => `${topic} (${from} to ${to})`).join(', ');
}
