import type { Clock } from '@headgate/throttle';
import { Command, CommanderError, Help, InvalidArgumentError, Option } from 'commander';
import type { CloseOptions, DeadLetterFilter } from './commands/dead-letters.ts';
import type { CommandContext } from './commands/command-context.ts';
import type { InitRestOptions } from './commands/init-rest.ts';
import type { ReadOptions } from './commands/read.ts';
import type { RunOptions } from './commands/run.ts';
import type { SandboxCommandOptions } from './commands/sandbox.ts';
import { UsageError } from './commands/usage-error.ts';
import { ConfigError } from './config/config-error.ts';
import { DEFAULT_FILE } from './config/default-file.ts';
import { sayProblem } from './config/format-problems.ts';
import { errorText } from './run/error-text.ts';
import { limitHeapGrowth } from './run/heap-growth.ts';
import type { Terminal } from './status/terminal.ts';
import { jsonMessage } from './status/text/json-message.ts';
import { plainOutput } from './status/text/plain-output.ts';
import { safeText } from './status/text/safe-text.ts';
import { version } from './version.ts';

/** The parts of the process that commands use. `clock` loads its module on demand. */
type World = Omit<CommandContext, 'file' | 'json' | 'stderr' | 'terminal' | 'clock'> & {
  readonly stderr: Terminal;
  readonly clock: () => Promise<Clock>;
};

/**
 * Runs a command line, and imports only the modules that its command needs. Resolves to the exit code: 0 done, 1 something failed, 2 usage
 * or configuration error, 130 stopped.
 */
export async function runCommandLine(args: readonly string[], world: World): Promise<number> {
  let exitCode = 0;
  const program = commandLine(world, (code) => (exitCode = code));
  try {
    await program.parseAsync([...args], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (world.signal.aborted) return 130;
    const stderr = plainOutput(world.stderr);
    if (program.opts<{ json?: boolean }>().json) {
      const at = (await world.clock()).epochMs();
      for (const message of messagesOf(error)) stderr.write(jsonMessage('error', at, { event: 'error' }, safeText(message, 2_000)));
    } else stderr.write(`headgate: ${errorText(error)}\n`);
    return error instanceof ConfigError || error instanceof UsageError ? 2 : 1;
  }
}

function messagesOf(error: unknown): readonly string[] {
  if (!(error instanceof ConfigError) || error.problems.length === 0) return [errorText(error)];
  return error.problems.map((problem) => sayProblem(error.fileName, problem));
}

type RunFlags = Partial<Omit<RunOptions, 'config'>> & { readonly sandbox?: boolean; readonly kafka?: boolean };

/** Two examples for the help of each command, without `headgate` and the command's name. */
const EXAMPLES = {
  init: ['', ' --rest https://pokeapi.co/api/v2/pokemon'],
  check: ['', ' --online --json'],
  schema: [' followers.ids', ' --infer github.issues --pages 3 > issue.schema.json'],
  plan: ['', ' --json'],
  run: [' --sandbox', ' --again github.issues'],
  try: [' github.repos', ' github.issues --for owner=nodejs --for repo=undici'],
  enqueue: [' followers @alpha id:12', ' books - < isbns.txt'],
  cancel: [' followers @alpha', ' books 9780792712305'],
  read: [' followers.ids --key @alpha --since 24h --json', ' followers.ids --out ids.parquet'],
  backup: [' copy.db', ' backups/monday.db --config jobs/books.yaml'],
  'dead-letters': [' followers', ' followers --json --code HEADGATE_USER_NOT_FOUND'],
  replay: [' followers --dry-run', ' followers --key @alpha'],
  dismiss: [' followers --code HEADGATE_USER_NOT_FOUND', ' books --key 9780792712305'],
  sandbox: [' --user alpha=12000 --limit 15/60s', ' --fault cut@3 --port 0'],
} as const;

/** Describes an option in `--help`. Leaves out the default of a repeatable option, which is an empty list. */
function optionDescription(this: Help, option: Option): string {
  const { defaultValue } = option as { readonly defaultValue: unknown };
  return Array.isArray(defaultValue) ? option.description : Help.prototype.optionDescription.call(this, option);
}

function commandLine(world: World, exit: (code: number) => void): Command {
  const program = new Command('headgate');
  let clock: Clock;
  const context = (): CommandContext => {
    const { config = DEFAULT_FILE, json } = program.opts<{ config?: string; json?: boolean }>();
    return { ...world, clock, stderr: plainOutput(world.stderr), terminal: world.stderr, file: config, json: json ?? false };
  };

  program
    .description('Streams rate-limited HTTP services into Kafka or an embedded log: every request the limit allows, and never one more.')
    .version(version(), '-V, --version', 'Print the version')
    .helpOption('-h, --help', 'Show this help')
    .option('--config <file>', 'Configuration (default: headgate.yaml)')
    .option('--json', 'Write logs and the output of check, plan and read as JSON lines')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => world.stdout.write(text),
      writeErr: (text) => plainOutput(world.stderr).write(text.replace(/^error: /, 'headgate: ')),
    })
    .showHelpAfterError('(add --help for commands and options)')
    .configureHelp({ showGlobalOptions: true, optionDescription })
    .addHelpText(
      'after',
      '\nExit: 0 done, 1 something failed, 2 usage or configuration, 130 stopped.\nData goes to stdout, everything else to stderr.',
    );

  const command = (name: keyof typeof EXAMPLES, description: string): Command =>
    program
      .command(name)
      .description(description)
      .addHelpText('after', `\nExamples:\n${EXAMPLES[name].map((line) => `  headgate ${name}${line}`).join('\n')}`);
  const does =
    <Args extends unknown[]>(work: (...args: Args) => Promise<number>) =>
    async (...args: Args): Promise<void> =>
      exit(await work(...args));
  program.hook('preAction', async () => {
    limitHeapGrowth('lists');
    clock = await world.clock();
  });

  command('init', 'Write a commented headgate.yaml, after a few questions, or add a section for an API (--rest)')
    .addOption(new Option('--force', 'Overwrite the file').conflicts('rest'))
    .option('--rest <url>', 'Send one request to any JSON API, and add a section for its list')
    .option('--name <section>', 'With --rest: name of the section (default: from the host)')
    .option('--bearer <variable>', 'With --rest: environment variable with the bearer token')
    .option('--key <variable>', 'With --rest: environment variable with the key, sent as Authorization')
    .option('--header <name>', 'With --key: header that carries the key instead')
    .option('--query <name>', 'With --key: query parameter that carries the key instead')
    .action(
      does(async ({ force = false, rest, ...given }: { force?: boolean; rest?: string } & Omit<InitRestOptions, 'rest'>) => {
        if (/\.[cm]?[jt]s$/.test(context().file))
          throw new UsageError('init: --config names a module, and init writes YAML. Name a file such as headgate.yaml.');
        if (rest !== undefined) return (await import('./commands/init-rest.ts')).initRest({ ...given, rest }, context());
        const [option] = Object.keys(given);
        if (option !== undefined) throw new UsageError(`init: --${option} needs --rest URL.`);
        const [{ init }, { terminalPrompt }] = await Promise.all([import('./commands/init.ts'), import('./commands/terminal-prompt.ts')]);
        return init(force, terminalPrompt(context()), context());
      }),
    );

  command('check', 'Check the configuration, its secrets and what a run needs')
    .option('--online', 'Also send one request per credential; it counts against the budget')
    .action(does(async ({ online = false }: { online?: boolean }) => (await import('./commands/check.ts')).check(online, context())));

  command('schema', 'Write the JSON Schema of a topic, or of headgate.yaml for editors')
    .argument('[topic]', 'Topic, such as followers.ids (default: the configuration)')
    .option('--asyncapi', 'Write an AsyncAPI 3 document of all configured topics instead')
    .addOption(
      new Option('--infer <stream>', 'Request pages of a stream (use: rest), and propose the JSON Schema of its records').conflicts(
        'asyncapi',
      ),
    )
    .option('--pages <n>', 'With --infer: maximum pages to request', positiveNumber, 3)
    .option('--for <field=value>', 'With --infer: field of the job, such as owner=nodejs; repeatable', collect, [])
    .action(
      does(async (topic: string | undefined, options: { asyncapi?: boolean; infer?: string; pages: number; for: string[] }) => {
        const { infer: stream, pages, for: fields } = options;
        if (stream !== undefined) {
          if (topic !== undefined) throw new UsageError('schema: --infer names a stream. Leave out the topic.');
          return (await import('./commands/infer-schema.ts')).inferSchema(stream, fields, pages, context());
        }
        if (options.asyncapi === true) {
          if (topic !== undefined) throw new UsageError('schema: --asyncapi describes all topics. Leave out the topic.');
          return (await import('./commands/asyncapi.ts')).asyncapi(context());
        }
        const { schema, schemaOfTopic } = await import('./commands/schema.ts');
        return topic === undefined ? schema(context()) : schemaOfTopic(topic, context());
      }),
    );

  command('plan', 'Show the remaining work, the requests it needs and its finish time').action(
    does(async () => (await import('./commands/plan.ts')).plan(context())),
  );

  command('run', 'Work until all jobs are done')
    .option('--follow', 'Keep running, and work on jobs as they are enqueued')
    .option('--fail-on-dead-letters', 'Exit with 1 if dead letters are open, including those of earlier runs')
    .option('--only <pipeline[:key]>', 'Run only this pipeline, or only its jobs with this key, such as followers:@alpha')
    .option('--again <pipeline[.stream]>', 'Request a list again now, from its newest time if it has since, such as github.issues')
    .option('--from-start', 'With --again: request the whole list, and the whole lists of its records')
    .option('--max-requests <n>', 'Stop after N HTTP requests, retries included', positiveNumber)
    .addOption(
      new Option('--sandbox', 'Start emulators of both services, and run a few jobs against them').conflicts([
        'only',
        'again',
        'fromStart',
        'maxRequests',
        'failOnDeadLetters',
      ]),
    )
    .option('--kafka', 'With --sandbox: start a real Kafka broker and write to it until you stop the run (needs Java 17)')
    .action(
      does(async ({ sandbox: sandboxed = false, kafka = false, ...flags }: RunFlags) => {
        if (kafka && !sandboxed) throw new UsageError('run: --kafka needs --sandbox. To use your own brokers, name them under topics.');
        if (sandboxed) return (await import('./commands/run-sandbox.ts')).runSandbox(flags.follow ?? false, kafka, context());
        const [{ run }, { readConfig }] = await Promise.all([import('./commands/run.ts'), import('./commands/command-context.ts')]);
        return run({ follow: false, ...flags, config: await readConfig(context()) }, context());
      }),
    );

  command('try', 'Send one request of a stream (use: rest) and show the response; write nothing')
    .argument('<stream>', 'Section and stream, such as github.issues')
    .option('--for <field=value>', 'Field of the job, such as owner=nodejs; repeatable', collect, [])
    .action(
      does(async (stream: string, { for: fields }: { for: string[] }) =>
        (await import('./commands/try.ts')).tryStream(stream, fields, context()),
      ),
    );

  command('enqueue', 'Add jobs to a requests topic, from arguments or from stdin, one per line')
    .argument('<pipeline>', 'followers, books or your own pipeline')
    .argument(
      '[jobs...]',
      'followers: @name or the digits of a user ID; books: ISBNs; your own: as its definition parses them; any pipeline: JSON',
    )
    .option('--author <name>', 'Author to look up (books only); repeatable', collect, [])
    .action(
      does(async (pipeline: string, entries: string[], { author }: { author: string[] }) =>
        (await import('./commands/enqueue.ts')).enqueue(pipeline, entries, author, context()),
      ),
    );

  command('cancel', 'Withdraw jobs that no run has started, by key; stop the run first')
    .argument('<pipeline>', 'followers, books or your own pipeline')
    .argument('<key>', 'Key of the jobs, such as @alpha')
    .action(does(async (of: string, key: string) => (await import('./commands/cancel.ts')).cancel(of, key, context())));

  command('read', 'Write committed records of a topic: as lines, or as a table in NDJSON, CSV or Parquet')
    .argument('<topic>', 'Topic, such as followers.ids')
    .option('--follow', 'Wait for new records after the last one')
    .option('--from <offset>', 'First offset to read', wholeNumber)
    .option('--since <when>', 'Only records since a time: 15m, 24h, or 2026-11-22T10:00Z')
    .option('--key <key>', 'Only records with this key, such as @alpha')
    .option('--tail <n>', 'Only the last N records of each partition', wholeNumber)
    .addOption(new Option('--newest', 'Only the newest record of each key').conflicts('follow'))
    .option('--max <n>', 'Maximum records to write', wholeNumber)
    .option('--values', 'Write only the values, as JSON lines')
    .addOption(
      new Option('--format <format>', 'Write a table (default: the format of the extension of --out, or ndjson)')
        .choices(['ndjson', 'csv', 'parquet'] satisfies ReadOptions['format'][])
        .conflicts(['follow', 'values']),
    )
    .addOption(new Option('--out <file>', 'Write a table to this file, atomically (default: to stdout)').conflicts(['follow', 'values']))
    .action(
      does(async (topic: string, options: Omit<ReadOptions, 'topic'>) =>
        (await import('./commands/read.ts')).read({ ...options, topic }, context()),
      ),
    );

  command('backup', 'Copy the embedded log, even during a run')
    .argument('<file>', 'New file for the copy; an existing file is never overwritten')
    .action(does(async (file: string) => (await import('./commands/backup.ts')).backup(file, context())));

  deadLetterOptions(command('dead-letters', 'List open dead letters, grouped by error code')).action(
    does(async (of: string, options: Omit<DeadLetterFilter, 'of'>) =>
      (await import('./commands/dead-letters.ts')).deadLetters({ ...options, of }, context()),
    ),
  );

  deadLetterOptions(command('replay', 'Re-enqueue the jobs of open dead letters'))
    .option('--dry-run', 'Only show how many')
    .action(
      does(async (of: string, options: Omit<CloseOptions, 'of'>) =>
        (await import('./commands/dead-letters.ts')).replay({ ...options, of }, context()),
      ),
    );

  deadLetterOptions(command('dismiss', 'Acknowledge open dead letters: keep their records, but count them as closed'))
    .option('--dry-run', 'Only show how many')
    .action(
      does(async (of: string, options: Omit<CloseOptions, 'of'>) =>
        (await import('./commands/dead-letters.ts')).dismiss({ ...options, of }, context()),
      ),
    );

  sandboxOptions(command('sandbox', 'Run only the emulators of both services')).action(
    does(async (options: SandboxCommandOptions) => (await import('./commands/sandbox.ts')).sandbox(options, context())),
  );
  return program;
}

function deadLetterOptions(command: Command): Command {
  return command
    .argument('<pipeline>', 'followers, books or your own pipeline, or its dead-letters topic')
    .option('--code <code>', 'Only dead letters with this error code, such as HEADGATE_NOT_FOUND')
    .option('--key <key>', 'Only dead letters with this key, such as @alpha');
}

function sandboxOptions(command: Command): Command {
  return command
    .option('--kafka', 'Also start a real Kafka broker, on the first port (needs Java 17)')
    .option(
      '--port <n>',
      'First port: followers, then one per books plan; 0 picks free ports (default: 8701, or 9092 with --kafka)',
      wholeNumber,
    )
    .option('--user <name=followers>', 'User with this many followers, or name=protected or name=suspended; repeatable', collect, [])
    .option('--limit <n/duration>', 'Followers limit of each credential', '15/15m')
    .option('--fault <name@n>', 'Error to inject at the Nth followers request, such as cut@3 or hang@5x2; repeatable', collect, [])
    .option('--books-fault <name@n>', 'Error to inject at the Nth books request; repeatable', collect, []);
}

function collect(value: string, values: string[]): string[] {
  return [...values, value];
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) throw new InvalidArgumentError('Write a whole number.');
  return value;
}

function positiveNumber(text: string): number {
  const value = wholeNumber(text);
  if (value === 0) throw new InvalidArgumentError('Write a whole number from 1.');
  return value;
}
