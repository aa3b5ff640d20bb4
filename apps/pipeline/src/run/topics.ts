import { type DefinitionInfo, type Pipeline, topicNames } from '@headgate/pipeline';
import { type PipelineTopics, definedTopics, topicSpecs } from '@headgate/pipeline/internal';
import { type CreatedTopics, type NewTopicSpec, type TopicLog, type TopicMismatch, TopicMismatchError } from '@headgate/topics';
import { withBuiltIn } from '../config/built-in.ts';
import type { TopicsConfig } from '../config/topics-section.ts';

/** The part of the configuration that determines topics. */
export interface ConfigOfLog {
  readonly topics: TopicsConfig;
  readonly pipelines: readonly Pipeline[];
  /** More pipelines whose topics must exist. Default: none. */
  readonly definitions?: readonly DefinitionInfo[];
}

/**
 * Creates the missing topics of a run, without the partitions that only a run adds, because partitions can't be removed. `validateOnly`: only
 * checks the topics. Throws a `TopicMismatchError` that says what to do about topics that don't fit.
 */
export async function prepareTopics(log: TopicLog, config: ConfigOfLog, validateOnly = false): Promise<CreatedTopics> {
  try {
    const specs = validateOnly ? runTopics(config) : await withoutGrowth(log, config);
    return withStateWarning(await log.createTopics(specs, { validateOnly }), specs, topicNames(config.topics)('headgate.state'));
  } catch (error) {
    throw withTopicAdvice(error, config);
  }
}

/** Adds a warning if the group's state was missing, although other state exists. */
function withStateWarning(made: CreatedTopics, specs: readonly NewTopicSpec[], group: string): CreatedTopics {
  const kept = specs.filter(({ name }) => !made.created.includes(name));
  // A compacted topic of records has `fixedPartitions`.
  if (!made.created.includes(group) || !kept.some(({ compacted, fixedPartitions }) => compacted === true && fixedPartitions !== true))
    return made;
  const warning =
    `Topic "${group}" was missing, although other topics of state exist. It holds which entries of the lists are enqueued, so all entries of ` +
    'the lists run again. If it was deleted by mistake, stop all runs and restore it.';
  return { ...made, warnings: [...made.warnings, warning] };
}

/**
 * Number of partitions of each existing topic of a run. Creates nothing, and needs no permission to create topics. Throws a
 * `TopicMismatchError` for topics that don't fit.
 */
export async function partitionsOf(log: TopicLog, config: ConfigOfLog): Promise<ReadonlyMap<string, number>> {
  const specs = runTopics(config);
  const existing = await log.listTopics(
    specs.map(({ name }) => name),
    { withOffsets: false },
  );
  const partitions = new Map(existing.map((topic) => [topic.name, topic.partitions]));
  const whole = specs.filter((spec) => (partitions.get(spec.name) ?? 0) >= spec.partitions);
  try {
    if (whole.length > 0) await log.createTopics(whole, { validateOnly: true });
  } catch (error) {
    throw withTopicAdvice(error, config);
  }
  return partitions;
}

/**
 * Returns the topics of a run without the partitions that only a run adds: existing topics as they are, and missing ones for the lanes that
 * the log has.
 */
async function withoutGrowth(log: TopicLog, config: ConfigOfLog): Promise<readonly NewTopicSpec[]> {
  const wanted = runTopics(config);
  const { created, grown } = await log.createTopics(wanted, { validateOnly: true });
  const names = topicNames(config.topics);
  const requests = new Set(pipelinesWithTopics(config).map(({ name }) => names(`${name}.requests`)));
  const lanes = Math.min(config.topics.lanes, ...grown.filter(({ topic }) => requests.has(topic)).map(({ from }) => from));
  const missing = runTopics({ ...config, topics: { ...config.topics, lanes } }).filter(({ name }) => created.includes(name));
  const partitions = new Map([
    ...missing.map((spec) => [spec.name, spec.partitions] as const),
    ...grown.map(({ topic, from }) => [topic, from] as const),
  ]);
  return wanted.map((spec) => ({ ...spec, partitions: partitions.get(spec.name) ?? spec.partitions }));
}

/** Number of lanes of a pipeline in the log. After `topics.lanes` was raised, that's the earlier number until a run adds partitions. */
export async function lanesInLog(log: TopicLog, topics: TopicsConfig, pipeline: string): Promise<number> {
  const [requests] = await log.listTopics([topicNames(topics)(`${pipeline}.requests`)], { withOffsets: false });
  return requests?.partitions ?? topics.lanes;
}

/** Adds advice for the configuration to a `TopicMismatchError`. Returns any other error unchanged. */
export function withTopicAdvice(error: unknown, config: ConfigOfLog): unknown {
  if (!(error instanceof TopicMismatchError)) return error;
  const [first, ...others] = error.mismatches.map((mismatch) =>
    mismatch.partitions === undefined
      ? withCommand(mismatch, config.topics)
      : { topic: mismatch.topic, reason: tooLarge(mismatch.topic, mismatch.partitions, config) },
  );
  return first === undefined ? error : new TopicMismatchError({ ...first, others }, { cause: error });
}

/** The topics of a run: those of its pipelines, or of both built-in ones if no pipeline is known. */
export function runTopics(config: ConfigOfLog): NewTopicSpec[] {
  return topicSpecs(pipelinesWithTopics(config), { lanes: config.topics.lanes, names: topicNames(config.topics) });
}

function pipelinesWithTopics({ pipelines, definitions = [] }: ConfigOfLog): readonly PipelineTopics[] {
  const none = pipelines.length + definitions.length === 0;
  const all = new Map<string, PipelineTopics>();
  for (const definition of none ? withBuiltIn([]) : definitions) all.set(definition.name, definedTopics(definition));
  for (const pipeline of pipelines) all.set(pipeline.name, pipeline);
  return [...all.values()];
}

/** Ends the reason of a mismatch with the command that corrects the topic's settings. */
function withCommand(mismatch: TopicMismatch, topics: TopicsConfig): TopicMismatch {
  const { topic, reason, settings } = mismatch;
  if (settings === undefined || topics.driver !== 'kafka') return mismatch;
  const set = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  const command =
    `kafka-configs.sh --bootstrap-server ${topics.brokers.join(',')} --alter --entity-type topics --entity-name '${topic}' ` +
    `--add-config ${set.join(',')}`;
  return { ...mismatch, reason: `${reason.replace(/\.$/, '')}: ${command}` };
}

/** Why a topic may not have more partitions. The driver knows only partitions, not the lanes that use them. */
function tooLarge(topic: string, partitions: number, config: ConfigOfLog): string {
  const { lanes } = config.topics;
  const has = `has ${partitions} partitions, but`;
  const unused = "no lane would process the other ones, and partitions can't be removed.";
  if (!isSplit(topic, config)) return `${has} must have one: ${unused} ${startOver(config.topics)}`;
  return `${has} topics.lanes is ${lanes}: ${unused} Set topics.lanes to ${partitions}, with as many credentials. Or: ${startOver(config.topics)}`;
}

/** Whether a topic has a partition for each lane. */
function isSplit(topic: string, config: ConfigOfLog): boolean {
  return runTopics({ ...config, topics: { ...config.topics, lanes: 2 } }).some(
    ({ name, partitions }) => name === topic && partitions === 2,
  );
}

/** The setting to change for a start with an empty log or with new topics. */
export function startOverKey({ driver }: TopicsConfig): string {
  return driver === 'sqlite' ? 'topics.file' : 'topics.prefix';
}

function startOver(topics: TopicsConfig): string {
  return `Start over with another ${startOverKey(topics)}: all topics are new there, and all jobs run again.`;
}
