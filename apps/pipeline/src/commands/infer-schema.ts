import { safeText } from '../status/text/safe-text.ts';
import { countWords } from '../status/text/number-words.ts';
import { type CommandContext, readConfig } from './command-context.ts';
import { requestOf, streamOf, triedPages } from './try.ts';

/**
 * Requests at most `most` pages of a stream, and writes the JSON Schema of their records to stdout, and what it guesses to stderr. Resolves to the exit code: 1 if
 * there are no records.
 */
export async function inferSchema(of: string, fields: readonly string[], most: number, context: CommandContext): Promise<number> {
  const { stdout, stderr, signal } = context;
  const config = await readConfig(context);
  const { pipeline, stream } = streamOf('schema --infer', of, config.pipelines);
  const { pages, ended } = await triedPages(pipeline, requestOf('schema --infer', pipeline, stream, fields), most, config, context);
  signal.throwIfAborted();
  const records = pages.flatMap(({ values }) => values);
  if (ended !== undefined) stderr.write(`headgate: ${safeText(ended, 500)}\n`);
  if (records.length === 0) {
    stderr.write('headgate: there are no records to infer a schema from. Nothing was written.\n');
    return 1;
  }
  const { inferredSchema } = await import('@headgate/rest');
  const { schema, guesses } = inferredSchema(records);
  stdout.write(`${JSON.stringify({ $schema: 'https://json-schema.org/draft/2020-12/schema', title: of, ...schema }, undefined, 2)}\n`);
  const from = `${countWords(records.length, 'record')} of ${countWords(pages.length, 'request')}`;
  const lines = [
    `headgate: inferred from ${from}, which count against the budget of the next run.`,
    ...guesses.map((guess) => `  ${safeText(guess, 1_000)}`),
    '  not guessed: enums, lengths and limits',
    'Check it, then write its file into schema of the stream. A record that does not fit becomes a dead letter.',
  ];
  stderr.write(`${lines.join('\n')}\n`);
  return 0;
}
