import type { Clock } from '@headgate/throttle';
import { Argument, Command, CommanderError, Help, InvalidArgumentError, Option } from 'commander';
import type { CheckOptions } from './commands/check.ts';
import type { Shell } from './commands/completion.ts';
import type { CloseChoice, LetterChoice } from './commands/dead-letters.ts';
import type { CommandContext } from './commands/command-context.ts';
import type { ExportOptions } from './commands/export.ts';
import type { ReadOptions } from './commands/read.ts';
import type { SandboxCommandOptions } from './commands/sandbox.ts';
import { UsageError } from './commands/usage-error.ts';
import { ConfigError } from './config/config-error.ts';
import { defaultConfigFile } from './config/default-config-file.ts';
import { sayProblem } from './config/format-problems.ts';
import { errorText } from './run/error-text.ts';
import { limitHeapGrowth } from './run/heap-growth.ts';
import type { Terminal } from './status/terminal.ts';
import { jsonMessage } from './status/text/json-message.ts';
import { plainOutput } from './status/text/plain-output.ts';
import { version } from './version.ts';

/** As a process has it; the clock is loaded for the commands that need one. */
type World = Omit<CommandContext, 'file' | 'json' | 'stderr' | 'terminal' | 'clock'> & {
  readonly stderr: Terminal;
  readonly clock: () => Promise<Clock>;
};

/**
 * Runs what a command line asks for. A command's code is loaded when it is asked for: most need little of the whole, `--help` nothing.
 * Resolves to the exit code: 0 done, 1 something failed, 2 usage or config, 130 stopped.
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
      for (const message of messagesOf(error)) stderr.write(jsonMessage({ level: 'error', at, event: 'error', message }));
    } else stderr.write(`headgate: ${errorText(error)}\n`);
    return error instanceof ConfigError || error instanceof UsageError ? 2 : 1;
  }
}

/** Of a configuration each problem by itself. */
function messagesOf(error: unknown): readonly string[] {
  if (!(error instanceof ConfigError) || error.problems.length === 0) return [errorText(error)];
  return error.problems.map((problem) => sayProblem(error.fileName, problem));
}

interface RunFlags {
  readonly follow?: boolean;
  readonly sandbox?: boolean;
  readonly kafka?: boolean;
  readonly failOnDeadLetters?: boolean;
}

/** The arguments of each command's two examples. */
const EXAMPLES = {
  init: ['', ' --config jobs/books.yaml'],
  check: ['', ' --online --json'],
  schema: [' > headgate.schema.json', ' followers.ids'],
  asyncapi: [' > asyncapi.json', ' --config jobs/books.yaml'],
  plan: ['', ' --json'],
  run: [' --sandbox', ' --follow'],
  try: [' github.repos', ' github.issues --for owner=nodejs --for repo=undici'],
  enqueue: [' followers @alpha id:12', ' books - < isbns.txt'],
  cancel: [' followers @alpha', ' books 9780792712305'],
  read: [' followers.ids --key @alpha --since 24h --json', ' followers.ids --tail 10 --follow'],
  backup: [' copy.db', ' backups/monday.db --config jobs/books.yaml'],
  export: [' followers.ids --out ids.parquet', ' followers.crawls --format csv'],
  'dead-letters': [' followers', ' followers --json --code HEADGATE_GONE'],
  replay: [' followers --dry-run', ' followers --key @alpha'],
  dismiss: [' followers --code HEADGATE_GONE', ' books --key 9780792712305'],
  completion: [' bash > ~/.local/share/bash-completion/completions/headgate', ' fish | source'],
  sandbox: [' --user alpha=12000 --limit 15/60s', ' --fault cut@3 --port 0'],
} as const;

/** Without a default that is an empty list. */
function optionDescription(this: Help, option: Option): string {
  const { defaultValue } = option as { readonly defaultValue: unknown };
  return Array.isArray(defaultValue) ? option.description : Help.prototype.optionDescription.call(this, option);
}

function commandLine(world: World, exit: (code: number) => void): Command {
  const program = new Command('headgate');
  let clock: Clock;
  const context = (): CommandContext => {
    const { config = defaultConfigFile(world.cwd), json } = program.opts<{ config?: string; json?: boolean }>();
    return { ...world, clock, stderr: plainOutput(world.stderr), terminal: world.stderr, file: config, json: json ?? false };
  };

  program
    .description('Streams rate-limited HTTP services into topic logs: every request a budget permits, never one more.')
    .version(version())
    .option('--config <file>', 'the configuration: YAML, or a module (default: headgate.yaml, or headgate.config.ts)')
    .option('--json', 'logs, and what check, plan and read write, as JSON: a line each')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => world.stdout.write(text),
      writeErr: (text) => plainOutput(world.stderr).write(text.replace(/^error: /, 'headgate: ')),
    })
    .showHelpAfterError('(add --help for what there is)')
    .configureHelp({ showGlobalOptions: true, optionDescription })
    .addHelpText(
      'after',
      '\nExit: 0 done, 1 something failed, 2 usage or configuration, 130 stopped.\nData goes to stdout, everything else to stderr.',
    );

  const command = (name: keyof typeof EXAMPLES, description: string): Command =>
    // Global options may stand behind the command, too.
    program
      .command(name)
      .description(description)
      .addOption(new Option('--config <file>').hideHelp())
      .addOption(new Option('--json').hideHelp())
      .addHelpText('after', `\nExamples:\n${EXAMPLES[name].map((line) => `  headgate ${name}${line}`).join('\n')}`);
  program.hook('preAction', async (_, action) => {
    limitHeapGrowth('lists');
    clock = await world.clock();
    for (const name of ['config', 'json'] as const) {
      const value: unknown = action.getOptionValue(name);
      if (value !== undefined && action !== program) program.setOptionValue(name, value);
    }
  });

  command('init', 'write a commented headgate.yaml, asking only what it can not know')
    .option('--force', 'overwrite the file')
    .action(async ({ force = false }: { force?: boolean }) => {
      const [{ init }, { terminalPrompt }] = await Promise.all([import('./commands/init.ts'), import('./commands/terminal-prompt.ts')]);
      const { cwd, env, stderr, stdin, terminal } = context();
      const { HEADGATE_COMMAND: typed = 'headgate' } = env;
      const { config: file = 'headgate.yaml' } = program.opts<{ config?: string }>();
      exit(await init({ file, cwd, force, stderr, command: typed, prompt: terminalPrompt({ input: stdin, output: terminal }) }));
    });

  command('check', 'look at the configuration, the secrets and what a run needs')
    .option('--online', 'spend one request per credential, noted in the log')
    .action(async ({ online = false }: { online?: boolean }) => {
      const [{ check }, { environmentProbes }, { warnOfClosedStdout }] = await Promise.all([
        import('./commands/check.ts'),
        import('./commands/environment-probes.ts'),
        import('./commands/closed-stdout.ts'),
      ]);
      const own = context();
      const { file, cwd, env, json } = own;
      await warnOfClosedStdout(own);
      const probes: CheckOptions['probes'] = (sound) => environmentProbes({ sound, online, context: own });
      exit(
        await check({
          file,
          cwd,
          env,
          ...(own.importing !== undefined && { importing: own.importing }),
          output: json ? own.stdout : plainOutput(own.stdout),
          json,
          online,
          probes,
        }),
      );
    });

  command('schema', "write the JSON Schema of a topic's values, or of headgate.yaml, for editors, with the pipelines of the configuration")
    .argument('[topic]', 'followers.ids, say; without it the configuration')
    .option('--reference', 'a page in Markdown with every key of the configuration instead')
    .action(async (topic: string | undefined, { reference = false }: { reference?: boolean }) => {
      const { schema, schemaOfTopic } = await import('./commands/schema.ts');
      exit(topic === undefined ? await schema({ reference }, context()) : await schemaOfTopic(topic, context()));
    });

  command('asyncapi', 'write an AsyncAPI 3 document of all topics of the configuration').action(async () => {
    const { asyncapi } = await import('./commands/asyncapi.ts');
    exit(await asyncapi(context()));
  });

  command('plan', 'what is left to do, the requests it needs, and when it will be done').action(async () => {
    const { plan } = await import('./commands/plan.ts');
    exit(await plan(context()));
  });

  command('run', 'work until all jobs are done')
    .option('--follow', 'stay, and work what is enqueued')
    .option('--fail-on-dead-letters', 'exit with 1 also if earlier runs have left dead letters open')
    .option('--sandbox', 'start emulators of both services and a small job for them')
    .option('--kafka', 'with --sandbox: into a real Kafka, which it starts (needs Java 17) and keeps until it is stopped')
    .action(async ({ follow = false, sandbox: sandboxed = false, kafka = false, failOnDeadLetters = false }: RunFlags) => {
      if (kafka && !sandboxed)
        throw new UsageError('run: --kafka goes with --sandbox. To work with brokers of yours, name them under topics.');
      if (sandboxed) {
        const { runSandbox } = await import('./commands/run-sandbox.ts');
        exit(await runSandbox({ follow, kafka }, context()));
      } else {
        const [{ run }, { readConfig }] = await Promise.all([import('./commands/run.ts'), import('./commands/command-context.ts')]);
        exit(await run({ config: await readConfig(context()), follow, failOnDeadLetters }, context()));
      }
    });

  command('try', 'make one request of a stream of a section with use: rest, show what comes, and write nothing')
    .argument('<stream>', 'section and stream: github.issues')
    .option(
      '--for <field=value>',
      'a field of the request; may be given again',
      (field: string, fields: string[]) => [...fields, field],
      [],
    )
    .action(async (stream: string, { for: fields }: { for: string[] }) => {
      const { tryStream } = await import('./commands/try.ts');
      exit(await tryStream({ stream, fields }, context()));
    });

  command('enqueue', 'add jobs to a requests topic; without any they are read from stdin, one per line')
    .argument('<pipeline>', 'followers, books, or one of your own')
    .argument(
      '[jobs...]',
      'followers: @name or the digits of a user id; books: ISBNs; your own: as its definition parses them; any: JSON, as the requests topic takes it',
    )
    .option('--author <name>', 'an author to look up (books); may be given again', (name: string, names: string[]) => [...names, name], [])
    .action(async (pipeline: string, entries: string[], { author }: { author: string[] }) => {
      const { enqueue } = await import('./commands/enqueue.ts');
      exit(await enqueue({ pipeline, entries, authors: author }, context()));
    });

  command('cancel', 'withdraw the jobs of a key that no run has begun; stop the run first')
    .argument('<pipeline>', 'followers, books, or one of your own')
    .argument('<key>', 'key of the jobs, as @alpha')
    .action(async (of: string, key: string) => {
      const { cancel } = await import('./commands/cancel.ts');
      exit(await cancel({ of, key }, context()));
    });

  recordOptions(
    command('read', 'write committed records of a topic to stdout').argument('<topic>').option('--follow', 'wait for more after the end'),
  )
    .option('--max <n>', 'end after so many records', wholeNumber)
    .option('--values', 'the values alone, a line of JSON each')
    .action(async (topic: string, options: Omit<ReadOptions, 'topic'>) => {
      const { read } = await import('./commands/read.ts');
      exit(await read({ ...options, topic }, context()));
    });

  command('backup', 'copy the embedded log, also while a run works with it')
    .argument('<file>', 'where the copy goes; nothing is overwritten')
    .action(async (file: string) => {
      const { backup } = await import('./commands/backup.ts');
      exit(await backup(file, context()));
    });

  recordOptions(
    command('export', 'write the records of a topic as a table: NDJSON, CSV or Parquet')
      .argument('<topic>')
      .option('--format <format>', 'ndjson, csv or parquet (default: by the ending of --out, else ndjson)')
      .option('--out <file>', 'a file, which appears when it is whole (default: stdout)'),
  ).action(async (topic: string, options: Omit<ExportOptions, 'topic'>) => {
    const { exportTopic } = await import('./commands/export.ts');
    exit(await exportTopic({ ...options, topic }, context()));
  });

  letterOptions(command('dead-letters', 'list the open dead letters of a pipeline by code: neither replayed nor dismissed')).action(
    async (of: string, options: Omit<LetterChoice, 'of'>) => {
      const { deadLetters } = await import('./commands/dead-letters.ts');
      exit(await deadLetters({ ...options, of }, context()));
    },
  );

  letterOptions(command('replay', 'work open dead letters again: put their jobs back into the requests topic'))
    .option('--dry-run', 'only say how many')
    .action(async (of: string, options: Omit<CloseChoice, 'of'>) => {
      const { replay } = await import('./commands/dead-letters.ts');
      exit(await replay({ ...options, of }, context()));
    });

  letterOptions(command('dismiss', 'acknowledge open dead letters: they stay in their topic and no longer count as open'))
    .option('--dry-run', 'only say how many')
    .action(async (of: string, options: Omit<CloseChoice, 'of'>) => {
      const { dismiss } = await import('./commands/dead-letters.ts');
      exit(await dismiss({ ...options, of }, context()));
    });

  sandboxOptions(command('sandbox', 'run the emulators of both services alone')).action(async (options: SandboxCommandOptions) => {
    const { sandbox } = await import('./commands/sandbox.ts');
    exit(await sandbox(options, context()));
  });

  command('completion', 'write a script that has a shell complete commands and options')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish'] satisfies Shell[]))
    .action(async (shell: Shell) => {
      const { completionScript } = await import('./commands/completion.ts');
      world.stdout.write(completionScript(shell, program));
    });

  return program;
}

function recordOptions(command: Command): Command {
  return command
    .option('--from <offset>', 'the first offset', wholeNumber)
    .option('--since <when>', 'records of the last 15m, 24h or so, or since a time as 2026-11-22T10:00Z')
    .option('--key <key>', 'records with this key alone, as @alpha')
    .option('--tail <n>', 'the last so many records', wholeNumber);
}

function letterOptions(command: Command): Command {
  return command
    .argument('<pipeline>', 'followers, books, or one of your own; or its topic of dead letters')
    .option('--code <code>', 'only letters with this code, as HEADGATE_NOT_FOUND')
    .option('--key <key>', 'only letters with this key, as @alpha');
}

function sandboxOptions(command: Command): Command {
  const again = (value: string, values: string[]): string[] => [...values, value];
  return command
    .option('--kafka', 'a real Kafka, too: one node on the first port; needs Java 17')
    .option(
      '--port <n>',
      'first of the ports: followers, then books by plan; 0 takes free ones (default: 8701, or 9092 with --kafka)',
      wholeNumber,
    )
    .option('--user <name=followers>', 'an account; may be given again. name=protected and name=suspended are answered so', again, [])
    .option(
      '--oauth <credential>',
      'consumerKey:consumerSecret, or with :token:tokenSecret, to verify signatures with; may be given again. Make it up: others may read a command line',
      again,
      [],
    )
    .option('--limit <n/duration>', 'the followers budget of each credential', '15/15m')
    .option(
      '--window <kind>',
      'how windows begin: first-request, wall-clock or rolling',
      choice('first-request', 'wall-clock', 'rolling'),
      'first-request',
    )
    .option('--latency <ms>', 'how long an answer takes', wholeNumber, 0)
    .option('--numbers', 'spell ids as bare numbers, whatever is asked for')
    .option('--unknown <isbn>', 'an ISBN the catalogue does not know; may be given again', again, [])
    .option('--fault <name@n>', 'what goes wrong at the n-th followers request, as cut@3 or hang@5x2; may be given again', again, [])
    .option('--books-fault <name@n>', 'the same for books', again, [])
    .option('--replay <file>', 'serve the recorded answers of a file');
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) throw new InvalidArgumentError('It takes a whole number.');
  return value;
}

function choice<const Word extends string>(...words: readonly Word[]): (text: string) => Word {
  return (text) => {
    const word = words.find((known) => known === text);
    if (word === undefined) throw new InvalidArgumentError(`It takes one of ${words.join(', ')}.`);
    return word;
  };
}
