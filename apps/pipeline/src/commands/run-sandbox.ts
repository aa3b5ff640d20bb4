import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { forecast, leftToDo, start, topicNames } from '@headgate/pipeline';
import { type FollowersUser, sampleIsbn, startBooks, startFollowers } from '@headgate/sandbox';
import { untilAborted } from '@headgate/throttle/internal';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import type { Config } from '../config/config.ts';
import { openConfig } from '../config/config-file.ts';
import { openTopicLog } from '../run/open-topic-log.ts';
import { prepareTopics } from '../run/topics.ts';
import { createTimeWords } from '../status/text/time-words.ts';
import type { CommandContext } from './command-context.ts';
import { run } from './run.ts';
import type { SandboxBroker } from './sandbox-broker.ts';

/** Folder of the sandbox's configuration and log. */
const FOLDER = '.headgate';

/**
 * Users with different lists: one that shifts, one with short pages, a small one and an empty one. Their 34 pages fill two windows of the
 * budget and begin a third.
 */
const USERS: Readonly<Record<string, FollowersUser>> = {
  alpha: { followers: 68_210, shiftEvery: 3 },
  beta: { followers: 46_380 },
  gamma: { followers: 37_000, suspendedShare: 0.2 },
  delta: { followers: 7 },
  epsilon: { followers: 0 },
};
/** The same users as the earlier crawl sees them. */
const EARLIER: Readonly<Record<string, FollowersUser>> = { ...USERS, alpha: { followers: 68_180 }, delta: { followers: 9 } };
const ISBNS = Array.from({ length: 250 }, (_, i) => sampleIsbn(i));
/** The earlier crawl has a list, too. Otherwise, the run would warn that the group has lost its lists. */
const EARLIER_ISBN = sampleIsbn(250);
const UNKNOWN = ISBNS.filter((_, i) => i % 36 === 5);
const AUTHORS = ['Charlotte Vale Allen', 'Ada & Bert / Söhne?'];
const LIMIT = { requests: 15, windowMs: 6_000 };

/**
 * Starts emulators of both services and runs a small job on them. First crawls the users in an earlier state, so that the forecast of the
 * job knows their sizes. `follow`: keeps running when no work is left. `kafka`: writes to a real Kafka broker. Resolves to the exit code.
 */
export async function runSandbox(follow: boolean, kafka: boolean, context: CommandContext): Promise<number> {
  const { cwd, signal, clock } = context;
  const now = (): number => clock.epochMs();
  const folder = resolve(cwd, FOLDER);
  const file = join(folder, 'sandbox.yaml');
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o700);
  await using broker = kafka ? await (await import('./sandbox-broker.ts')).startSandboxBrokerAnywhere(context) : undefined;
  await using followers = await startFollowers({
    users: USERS,
    window: { kind: 'rolling', limit: LIMIT.requests, windowMs: LIMIT.windowMs },
    latencyMs: { min: 20, max: 120 },
    now,
  });
  await using books = await startBooks({ unknown: UNKNOWN, latencyMs: { min: 20, max: 120 }, now });
  if (broker === undefined) await startAfresh(join(folder, 'sandbox.db'));
  await writeForOwner(join(folder, '.env'), 'SANDBOX_TOKEN=a-token-of-the-sandbox\nSANDBOX_KEY=a-key-of-the-sandbox\n');
  await crawlBefore(file, broker, context);
  await writeForOwner(file, sandboxYaml(broker, followers.url, books.url, LIMIT, true));
  const config = (await openConfig({ ...context, file })).all();
  const shown = { ...context, file: relative(cwd, file) || file };
  const where = broker === undefined ? `its log in ${join(FOLDER, 'sandbox.db')}` : `a real Kafka at ${broker.address}`;
  say(context, `Two emulated services, a small job, and ${where}.`);
  const plannedAt = await plannedEnd(config, context);
  const code = await run({ config, follow }, shown);
  if (signal.aborted || code !== 0) return code;
  say(context, endWords(plannedAt, kafka, shown.file, context));
  if (kafka) await untilAborted(signal);
  return code;
}

function say({ stderr, json }: Pick<CommandContext, 'stderr' | 'json'>, text: string): void {
  if (!json) stderr.write(`${text}\n`);
}

/** Crawls the same users and authors in their earlier state, silently and with a large budget. */
async function crawlBefore(file: string, broker: SandboxBroker | undefined, context: CommandContext): Promise<void> {
  const { clock, env, signal, deadline } = context;
  const limit = { requests: 1_000, windowMs: 1_000 };
  await using followers = await startFollowers({
    users: EARLIER,
    window: { kind: 'rolling', limit: limit.requests, windowMs: limit.windowMs },
  });
  await using books = await startBooks();
  await writeForOwner(file, sandboxYaml(broker, followers.url, books.urls.pro, limit, false));
  const config = (await openConfig({ ...context, file })).all();
  const { pipelines, topics } = config;
  await using log = await openTopicLog(topics, () => undefined);
  await prepareTopics(log, config);
  const requests: Readonly<Record<string, readonly object[]>> = {
    followers: Object.keys(USERS).map((screenName) => ({ screenName })),
    books: AUTHORS.map((author) => ({ author })),
  };
  await log.append(
    pipelines.flatMap(({ name, definition }) =>
      (requests[name] ?? []).map((request) => ({ topic: `${name}.requests`, ...definition.requests.keyed(request) })),
    ),
  );
  await using running = await start({
    log,
    pipelines,
    group: topics.group,
    lanes: topics.lanes,
    topics,
    clock,
    env,
    signal,
    ...(deadline && { deadline }),
  });
  await running.done;
}

/** The finish time that `plan` would show; undefined if the size of a crawl is unknown. */
async function plannedEnd({ pipelines, topics }: Config, { clock, env }: CommandContext): Promise<number | undefined> {
  await using log = await openTopicLog(topics, () => undefined);
  const left = await leftToDo({ log, pipelines, group: topics.group, lanes: topics.lanes, names: topicNames(topics), clock, env });
  const now = clock.epochMs();
  const forecasts = left.map(({ lanes }) => forecast(lanes, { now }));
  return forecasts.every(({ unknown }) => unknown === 0) ? now + Math.max(...forecasts.map(({ inMs }) => inMs)) : undefined;
}

function endWords(
  plannedAt: number | undefined,
  kafka: boolean,
  file: string,
  { clock, env }: Pick<CommandContext, 'clock' | 'env'>,
): string {
  const command = env['HEADGATE_COMMAND'] ?? 'headgate';
  const times = createTimeWords();
  const forecastWords =
    plannedAt === undefined
      ? []
      : [`Forecast before the first request: ${times.time(plannedAt)}. Finished: ${times.time(clock.epochMs())}.`];
  const next = kafka
    ? [
        'The broker and the services run until you press Ctrl-C. In another terminal:',
        `  ${command} read followers.changes --config ${file} --max 10`,
      ]
    : [
        'Try next:',
        `  ${command} run --sandbox --follow   the status page stays; enqueue more from another terminal`,
        `  ${command} run --sandbox --kafka    the same into a real Kafka`,
        `  ${command} init                     your own job`,
      ];
  return [...forecastWords, ...next].join('\n');
}

/** Writes a file that only its owner can read. `chmod` also corrects the mode of an existing file. */
async function writeForOwner(file: string, text: string): Promise<void> {
  await writeFile(file, text, { mode: 0o600 });
  await chmod(file, 0o600);
}

/** Deletes the log of an earlier sandbox run. Throws if a run still holds the lane of followers. */
async function startAfresh(file: string): Promise<void> {
  const log = await sqliteTopicLog({ file });
  try {
    await log.createTopics([{ name: 'followers.state', partitions: 1, compacted: true }]);
    const lane = await log.openLane({ name: 'headgate.followers.requests.0', state: { topic: 'followers.state', partition: 0 } });
    await lane.close();
  } finally {
    await log.close();
  }
  for (const part of ['', '-wal', '-shm']) await rm(file + part, { force: true });
}

/** `lists`: writes the configuration of the main run, with its users, ISBNs and authors, instead of the one of the earlier crawl. */
function sandboxYaml(
  broker: SandboxBroker | undefined,
  followersUrl: string,
  booksUrl: string,
  limit: { readonly requests: number; readonly windowMs: number },
  lists: boolean,
): string {
  return `# Written by \`headgate run --sandbox\`. The emulated services stop with that run; \`headgate read\` still works with this file.
topics: ${broker?.topics ?? '{ driver: sqlite, file: ./sandbox.db }'}
followers:
  baseUrl: ${followersUrl}
  credentials:
    - { name: ${lists ? 'app' : 'earlier'}, bearer: "\${SANDBOX_TOKEN}" }
  limit: { requests: ${limit.requests}, window: ${limit.windowMs}ms }
  users: [${lists ? Object.keys(USERS).join(', ') : ''}]
  emit: [pages, ids, changes]
books:
  plan: ${lists ? 'default' : 'pro'}
  baseUrl: ${booksUrl}
  key: "\${SANDBOX_KEY}"
  isbns:
${(lists ? ISBNS : [EARLIER_ISBN]).map((isbn) => `    - "${isbn}"`).join('\n')}
${lists ? `  authors: ${JSON.stringify(AUTHORS)}\n` : ''}`;
}
