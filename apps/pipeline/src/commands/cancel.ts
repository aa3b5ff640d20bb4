import { openConfig } from '../config/config-file.ts';
import { cancelJobs, topicNames } from '@headgate/pipeline';
import { definedTopics } from '@headgate/pipeline/internal';
import { LaneHeldError } from '@headgate/topics';
import { commandsFor } from '../config/commands-for.ts';
import { failureText } from '../run/failure-text.ts';
import { lanesInLog } from '../run/topics.ts';
import { countWords } from '../status/text/number-words.ts';
import { safeText } from '../status/text/safe-text.ts';
import { type CommandContext, createTopics, openLog, definitionIn } from './command-context.ts';

/** Withdraws jobs of a pipeline that have this key and that no run has started. Resolves to the exit code: 1 if it withdrew none. */
export async function cancel(of: string, key: string, context: CommandContext): Promise<number> {
  const { stderr, clock, signal } = context;
  const config = await openConfig(context);
  const { pipelines } = config;
  const topics = config.topics();
  const definition = definitionIn(config, of, 'cancel');
  const { group } = topics;
  const names = topicNames(topics);
  await using log = await openLog(context, topics);
  try {
    await createTopics(context, log, { topics, pipelines, definitions: [definition] });
    const lanes = await lanesInLog(log, topics, definition.name);
    const { canceled, begun } = await cancelJobs({ log, pipeline: definedTopics(definition), key, group, lanes, names, clock, signal });
    const stay =
      begun === 0 ? '' : `; ${countWords(begun, 'job')} with this key ${begun === 1 ? 'has' : 'have'} started and can't be canceled`;
    const list = `To list the jobs: ${commandsFor(context)('read', names(`${definition.name}.requests`))}`;
    const none = canceled + begun === 0 ? `: no job of ${safeText(key, 100)} is waiting. ${list}` : '';
    stderr.write(`${countWords(canceled, 'job')} withdrawn${stay}${none}\n`);
    return canceled > 0 ? 0 : 1;
  } catch (error) {
    if (!(error instanceof LaneHeldError)) throw error;
    const why = 'A run holds the lanes of these jobs. Stop it, cancel the job, then start the run again: it resumes where it stopped.';
    stderr.write(`headgate: no job was canceled. ${failureText(error)} ${why}\n`);
    return 1;
  }
}
