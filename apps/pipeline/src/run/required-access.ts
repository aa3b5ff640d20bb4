import { topicNames } from '@headgate/pipeline';
import { requiredPermissions } from '@headgate/pipeline/internal';
import type { RequiredAccess } from '@headgate/topics';
import { type ConfigOfLog, runTopics } from './topics.ts';

/** The access that a run needs to its log. If no pipeline is configured, the topics are those of the built-in ones. */
export function accessOfRun(config: ConfigOfLog): RequiredAccess {
  const { group, lanes } = config.topics;
  const use = requiredPermissions({ pipelines: config.pipelines, group, lanes, names: topicNames(config.topics) });
  const used = new Set(use.topics?.map(({ name }) => name));
  const others = runTopics(config).filter(({ name }) => !used.has(name));
  return { ...use, topics: [...(use.topics ?? []), ...others.map(({ name }) => ({ name }))] };
}
