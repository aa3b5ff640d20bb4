import { type DefinitionInfo, type Pipeline, topicNames } from '@headgate/pipeline';
import { definedTopics, nearest, topicSpecs } from '@headgate/pipeline/internal';
import type { StatusConfig } from './status-section.ts';
import type { TopicsConfig } from './topics-section.ts';
import type { KeyPath, Problem } from './problem.ts';

/** The sections of a configuration, each checked separately. */
export interface ReadConfig {
  /** Undefined if it has errors. */
  readonly topics: TopicsConfig | undefined;
  readonly status: false | StatusConfig | undefined;
  /** Sections without errors. */
  readonly pipelines: readonly Pipeline[];
  /** The definitions of all pipelines, even if their options have errors. If a module can't be loaded, only its pipeline's name is known. */
  readonly definitions: readonly DefinitionInfo[];
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** Creates a problem about the value at a path, or about its key. */
  problemAt(path: KeyPath, message: string, at?: 'key' | 'value'): Problem;
  /** Adds excerpts of the file to problems. */
  readonly withExcerpts: (problems: readonly Problem[]) => Problem[];
}

/** Finds the errors between sections that are valid on their own. */
export function crossProblems(read: ReadConfig): Problem[] {
  const { topics, pipelines, definitions } = read;
  const problems: Problem[] = [];
  if (topics === undefined) return problems;
  const { lanes, names } = topics;
  for (const { name, credentials, sharesLimit } of pipelines) {
    if (sharesLimit && lanes > 1) {
      const message = `${lanes} lanes can't share a limit, and ${name} has one over all credentials (shared). Write 1.`;
      problems.push(read.problemAt(['topics', 'lanes'], message));
      continue;
    }
    if (credentials === undefined || credentials.length >= lanes) continue;
    const { length } = credentials;
    if (length === 0) {
      problems.push(read.problemAt([name], 'has no credentials. Add at least one.'));
      continue;
    }
    const found = length === 1 ? 'there is one' : `there are ${length}`;
    const message = `${lanes} lanes need at least ${lanes} ${name} credentials, but ${found}. Write ${length} or less, or add credentials.`;
    problems.push(read.problemAt(['topics', 'lanes'], message));
  }
  const plain = definitions.map(definedTopics);
  const known = topicSpecs(plain, { lanes: 1, names: topicNames() }).map(({ name }) => name);
  const unknown = definitions.filter(({ dependsOnOptions }) => dependsOnOptions);
  for (const name of Object.keys(names)) {
    if (known.includes(name) || unknown.some((one) => name.startsWith(`${one.name}.`))) continue;
    const meant = nearest(name, known);
    const message = `isn't a topic of these pipelines. ${meant === undefined ? `Known topics: ${known.join(', ')}.` : `Did you mean ${meant}?`}`;
    problems.push(read.problemAt(['topics', 'names', name], message, 'key'));
  }
  if (problems.length > 0) return problems;
  try {
    topicSpecs(plain, { lanes: 1, names: topicNames(topics) });
  } catch (error) {
    problems.push(read.problemAt(['topics', 'names'], (error as Error).message));
  }
  return problems;
}
