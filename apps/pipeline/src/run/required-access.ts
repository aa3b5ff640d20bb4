import { topicNames } from '@headgate/pipeline';
import { requiredPermissions } from '@headgate/pipeline/internal';
import type { RequiredAccess } from '@headgate/topics';
import { type ConfigOfLog, runTopics } from './topics.ts';

/** What a run does with its log. Without a configured pipeline, only the topics of the built-in ones. */
export function accessOfRun(config: ConfigOfLog): RequiredAccess {
  const { group, lanes } = config.topics;
  const use = requiredPermissions({ pipelines: config.pipelines, group, lanes, names: topicNames(config.topics) });
  const used = new Set(use.topics?.map(({ name }) => name));
  const others = runTopics(config).filter(({ name }) => !used.has(name));
  return { ...use, topics: [...(use.topics ?? []), ...others.map(({ name }) => ({ name }))] };
}
