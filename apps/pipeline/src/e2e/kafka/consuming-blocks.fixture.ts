import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type CommandEnd, runOnLifeline } from './lifeline-command.fixture.ts';
import { kafkaJsFolder } from './write-transactions.fixture.ts';

const ROOT = fileURLToPath(new URL('../../../../../', import.meta.url));
const DOCUMENT = join(ROOT, 'docs', 'consuming.md');
/** The broker's address in the page. */
const BROKER = '127.0.0.1:9092';
/** JVM options for tools that run for a few seconds. */
const QUICKLY = '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx128m -Dorg.slf4j.simpleLogger.defaultLogLevel=warn';

const TOOLS = {
  'kafka-console-consumer.sh': 'org.apache.kafka.tools.consumer.ConsoleConsumer',
  'kafka-console-producer.sh': 'org.apache.kafka.tools.ConsoleProducer',
  'kafka-consumer-groups.sh': 'org.apache.kafka.tools.consumer.group.ConsumerGroupCommand',
} as const;

/** A fenced block. Its name follows the language on the opening fence. */
export interface Block {
  readonly language: string;
  readonly code: string;
}

/** All blocks of the page that can run here, by name. Throws if one has no name, or the name of another. */
export async function consumingBlocks(): Promise<ReadonlyMap<string, Block>> {
  const text = await readFile(DOCUMENT, 'utf8');
  const blocks = new Map<string, Block>();
  for (const [, notRun, language = '', name = '', code = ''] of text.matchAll(/(<!-- not run:.*\n)?^```(\w+) ?(\S*)\n([\s\S]*?)^```$/gm)) {
    if (notRun !== undefined) continue;
    if (name === '' || blocks.has(name)) throw new Error(`docs/consuming.md: a block of ${language} needs a name of its own: ${code}`);
    blocks.set(name, { language, code });
  }
  return blocks;
}

/** A folder in which blocks run as the page shows them, except for the broker's address. */
export interface BlockRoom extends AsyncDisposable {
  /** Runs a block until it ends, or until it has printed `lines` lines and a moment has passed. */
  run(block: Block, options?: { readonly lines?: number }): Promise<CommandEnd>;
}

export interface BlockRoomOptions {
  readonly broker: string;
  /** Class path of Kafka's tools. */
  readonly jars: string;
  /** A Python with confluent-kafka, if there is one. */
  readonly python: string | undefined;
}

export async function blockRoom({ broker, jars, python = 'python3' }: BlockRoomOptions): Promise<BlockRoom> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-consuming-'));
  await mkdir(join(folder, 'bin'));
  await mkdir(join(folder, 'node_modules'));
  await symlink(kafkaJsFolder(), join(folder, 'node_modules', 'kafkajs'));
  await symlink(join(ROOT, 'apps', 'pipeline'), join(folder, 'node_modules', 'headgate'));
  for (const [name, className] of Object.entries(TOOLS)) {
    const tool = join(folder, 'bin', name);
    await writeFile(tool, `#!/bin/sh\nexec "\${JAVA_HOME:+$JAVA_HOME/bin/}java" ${QUICKLY} -cp '${jars}' ${className} "$@"\n`, {
      mode: 0o755,
    });
  }
  let files = 0;

  const run: BlockRoom['run'] = async ({ language, code }, { lines } = {}) => {
    const file = join(folder, `block-${(files += 1)}.${language === 'js' ? 'mjs' : language}`);
    await writeFile(file, code.replaceAll(BROKER, broker));
    const node = [process.execPath, '--conditions=@headgate/source', '--disable-warning=TimeoutNegativeWarning'];
    const commands: Readonly<Record<string, readonly string[]>> = { js: node, python: [python], sh: ['sh'] };
    const command = commands[language];
    if (command === undefined) throw new Error(`docs/consuming.md: nothing here runs ${language}.`);
    return await runOnLifeline({ command: [...command, file], folder, lines });
  };
  return { run, [Symbol.asyncDispose]: async () => rm(folder, { recursive: true, force: true }) };
}
