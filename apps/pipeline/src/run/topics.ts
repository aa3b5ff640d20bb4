import { type PipelineTopics, topicNames, topicSpecs } from '@headgate/pipeline';
import { type CreatedTopics, type NewTopicSpec, type TopicLog, type TopicMismatch, TopicMismatchError } from '@headgate/topics';
import type { Config, TopicsConfig } from '../config/config.ts';
import { books } from '../pipelines/books.ts';
import { configuredPipelines } from '../pipelines/configured.ts';
import { followers } from '../pipelines/followers.ts';

/** What of the configuration decides on topics. */
export type ConfigOfLog = Pick<Config, 'topics' | 'followers' | 'books'>;

export interface PrepareTopicsOptions {
  readonly log: TopicLog;
  readonly config: ConfigOfLog;
  /** Only find out, and change nothing. Default false. */
  readonly validateOnly?: boolean;
}

/** Makes the topics of a run where they are missing. Throws a `TopicMismatchError` that says what to do about those that don't fit. */
export async function prepareTopics({ log, config, validateOnly = false }: PrepareTopicsOptions): Promise<CreatedTopics> {
  return await withAdvice(config, log.createTopics(runTopics(config), { validateOnly }));
}

/**
 * How many partitions each topic of a run has that is there. Makes nothing, and needs no right to. Throws the `TopicMismatchError` of
 * `prepareTopics` about those that are whole: whether another would be made is not asked.
 */
export async function topicsThere({ log, config }: Pick<PrepareTopicsOptions, 'log' | 'config'>): Promise<ReadonlyMap<string, number>> {
  const specs = runTopics(config);
  const there = await log.listTopics(specs.map(({ name }) => name));
  const partitions = new Map(there.map((topic) => [topic.name, topic.partitions]));
  const whole = specs.filter((spec) => (partitions.get(spec.name) ?? 0) >= spec.partitions);
  if (whole.length > 0) await withAdvice(config, log.createTopics(whole, { validateOnly: true }));
  return partitions;
}

/** Where partitions are added: `followers.requests (1 to 2), followers.pages (1 to 2)`. */
export function growthWords(grown: CreatedTopics['grown']): string {
  return grown.map(({ topic, from, to }) => `${topic} (${from} to ${to})`).join(', ');
}

async function withAdvice(config: ConfigOfLog, made: Promise<CreatedTopics>): Promise<CreatedTopics> {
  try {
    return await made;
  } catch (error) {
    throw error instanceof TopicMismatchError ? advised(error, config) : error;
  }
}

/** The topics of both services, whichever of them a configuration has. */
export function runTopics({ topics, ...sections }: ConfigOfLog): NewTopicSpec[] {
  const configured = configuredPipelines(sections);
  const pipelines = BUILT_IN.map((one) => configured.find(({ name }) => name === one.name) ?? one);
  return topicSpecs(pipelines, { lanes: topics.lanes, names: topicNames() });
}

/** Without options: credentials are there to split. */
const BUILT_IN: readonly PipelineTopics[] = [
  { name: 'followers', topics: followers.definition.topics, credentials: [], usualBytes: {} },
  { name: 'books', topics: books.definition.topics, credentials: undefined, usualBytes: {} },
];

/** The driver knows of partitions only; that lanes are behind them, and credentials behind those, is known here. */
function advised(error: TopicMismatchError, config: ConfigOfLog): TopicMismatchError {
  const large = error.mismatches.filter((mismatch) => mismatch.partitions !== undefined);
  const ofLanes = large.filter(({ topic }) => lanesFor(topic, 1) !== undefined);
  const ofBooks = large.filter((mismatch) => !ofLanes.includes(mismatch));
  const [first, ...others] = [
    ...(ofLanes.length > 0 ? [tooManyForLanes(ofLanes, config)] : []),
    ...ofBooks.map(({ topic, partitions }) => {
      return { topic, reason: `has ${partitions} partitions, and has to have one. ${startOver([topic], config.topics)}` };
    }),
    ...error.mismatches.filter((mismatch) => !large.includes(mismatch)),
  ];
  return first === undefined ? error : new TopicMismatchError({ ...first, others }, { cause: error });
}

function tooManyForLanes(large: readonly TopicMismatch[], { topics, followers }: ConfigOfLog): TopicMismatch {
  const names = large.map(({ topic }) => topic);
  const [topic = ''] = names;
  const lanes = Math.max(...large.map(({ topic: name, partitions = 1 }) => lanesFor(name, partitions) ?? 1));
  const credentials = followers?.credentials.length ?? Infinity;
  const counts = large.map(({ topic: name, partitions }, i) => (i === 0 ? `has ${partitions} partitions` : `${name} ${partitions}`));
  const advice =
    credentials >= lanes
      ? `Set topics.lanes to ${lanes}.`
      : `Add followers credentials (there ${credentials === 1 ? 'is' : 'are'} ${credentials}) and set topics.lanes to ${lanes}. Or: ${startOver(names, topics)}`;
  return {
    topic,
    reason: `${counts.join(', ')}: more than topics.lanes of ${topics.lanes} can use, and partitions can't be taken away. ${advice}`,
  };
}

/** The lanes a topic of so many partitions is made for; undefined where lanes don't matter. */
function lanesFor(topic: string, partitions: number): number | undefined {
  return topic.startsWith('followers.') ? partitions : undefined;
}

function startOver(names: readonly string[], topics: TopicsConfig): string {
  if (topics.driver === 'sqlite') return 'Start over with another topics.file.';
  const servers = topics.brokers.join(',');
  const [it, is] = names.length === 1 ? ['it', 'it is'] : ['them', 'they are'];
  return (
    `Delete ${it} with all that is in ${it}, and ${is} made anew: ` +
    `kafka-topics.sh --bootstrap-server ${servers} --delete --topic '${names.join(',')}'`
  );
}
