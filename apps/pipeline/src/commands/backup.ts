import { backupSqliteTopicLog } from '@headgate/topics/sqlite';
import { resolve } from 'node:path';
import { logExists } from '../run/open-topic-log.ts';
import { countWords, groupedNumber } from '../status/text/number-words.ts';
import type { CommandContext } from './command-context.ts';
import { openConfig } from '../config/config-file.ts';
import { UsageError } from './usage-error.ts';

/** Copies the embedded log, even during a run, and verifies the whole copy. Resolves to the exit code. */
export async function backup(to: string, context: CommandContext): Promise<number> {
  const topics = (await openConfig(context)).topics();
  if (topics.driver === 'kafka') throw new UsageError('backup: the log is on Kafka, which keeps its own copies: see topics.replication.');
  const { file } = topics;
  if (!(await logExists(topics))) throw new UsageError(`backup: there is no log at ${file} yet.`);
  const done = await backupSqliteTopicLog({ file, to: resolve(context.cwd, to), signal: context.signal });
  const what = `${countWords(done.topics, 'topic')}, ${countWords(done.records, 'record')}, ${groupedNumber(done.bytes)} bytes`;
  context.stderr.write(`${to} is a copy of ${file}: ${what}, all verified.\n`);
  return 0;
}
