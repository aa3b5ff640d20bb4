import { type DefinitionInfo, type Pipeline, topicNames } from '@headgate/pipeline';
import { definedTopics, nearest, topicSpecs } from '@headgate/pipeline/internal';
import { withBuiltIn } from './built-in.ts';
import type { KeyPath } from './problem.ts';
import type { TopicsConfig } from './topics-section.ts';
import type { Finding, Origin } from './yaml-values.ts';

/**
 * Finds the errors between sections that are valid on their own. `names`: the sections that configure a pipeline. `definitions`: those that
 * could be loaded.
 */
export function crossFindings(
  topics: TopicsConfig,
  pipelines: readonly Pipeline[],
  names: readonly string[],
  definitions: readonly DefinitionInfo[],
  originOf: (path: KeyPath) => Origin,
): readonly Finding[] {
  const findings = [
    ...pipelines.flatMap((pipeline) => laneFindings(topics.lanes, pipeline, originOf)),
    ...pipelines.flatMap((pipeline) => formatFindings(topics, pipeline, originOf)),
    ...nameFindings(topics, names, definitions, originOf),
  ];
  if (findings.length > 0) return findings;
  try {
    topicSpecs(withBuiltIn(definitions).map(definedTopics), { lanes: 1, names: topicNames(topics) });
    return [];
  } catch (error) {
    return [{ origin: originOf(['topics', 'names']), message: (error as Error).message }];
  }
}

function laneFindings(
  lanes: number,
  { name, credentials, sharesLimit }: Pipeline,
  originOf: (path: KeyPath) => Origin,
): readonly Finding[] {
  const origin = originOf(['topics', 'lanes']);
  if (sharesLimit && lanes > 1) {
    const message = `${lanes} lanes can't share a limit, and ${name} has one over all credentials (shared). Write 1.`;
    return [{ origin, message }];
  }
  if (credentials === undefined || credentials.length >= lanes) return [];
  const { length } = credentials;
  if (length === 0) return [{ origin: originOf([name]), message: 'has no credentials. Add at least one.' }];
  const found = length === 1 ? 'there is one' : `there are ${length}`;
  const message = `${lanes} lanes need at least ${lanes} ${name} credentials, but ${found}. Write ${length} or less, or add credentials.`;
  return [{ origin, message }];
}

function formatFindings(topics: TopicsConfig, { name, topics: own }: Pipeline, originOf: (path: KeyPath) => Origin): readonly Finding[] {
  if (topics.driver === 'kafka' && topics.registry !== undefined) return [];
  const needsRegistry = Object.values(own).some(({ format = 'json', serialize }) => format !== 'json' && serialize === undefined);
  const message =
    topics.driver === 'sqlite'
      ? 'needs Kafka with a schema registry: the embedded log has only JSON. Remove it.'
      : 'needs a schema registry. Write topics: { registry: { url: http://127.0.0.1:8081 } }.';
  return needsRegistry ? [{ origin: originOf([name, 'format']), message }] : [];
}

function nameFindings(
  topics: TopicsConfig,
  names: readonly string[],
  definitions: readonly DefinitionInfo[],
  originOf: (path: KeyPath) => Origin,
): readonly Finding[] {
  const all = withBuiltIn(definitions);
  const known = topicSpecs(all.map(definedTopics), { lanes: 1, names: topicNames() }).map(({ name }) => name);
  // The topics of these pipelines aren't known, because their modules or sections have errors.
  const closed = all.filter(({ dependsOnOptions = false }) => !dependsOnOptions).map(({ name }) => name);
  const open = names.filter((name) => !closed.includes(name));
  const given = [
    ...Object.keys(topics.names).map((name) => ['names', name] as const),
    ...(topics.driver === 'kafka' ? Object.keys(topics.settings).map((name) => ['settings', name] as const) : []),
  ];
  return given.flatMap(([setting, name]) => {
    if (known.includes(name) || open.some((pipeline) => name.startsWith(`${pipeline}.`))) return [];
    const meant = nearest(name, known);
    const message = `isn't a topic of these pipelines. ${meant === undefined ? `Known topics: ${known.join(', ')}.` : `Did you mean ${meant}?`}`;
    return [{ origin: originOf(['topics', setting, name]), message, at: 'key' as const }];
  });
}
