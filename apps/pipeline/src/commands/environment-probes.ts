import { access, constants } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Clock, creditPool } from '@headgate/throttle';
import type { TopicLog } from '@headgate/topics';
import type { Config } from '../config/config.ts';
import { pause } from '../lanes/pause.ts';
import { booksService, followersService } from '../run/services.ts';
import { assertStatesKept } from '../run/kept-state.ts';
import { isLogThere, logAddress, openTopicLog } from '../run/open-topic-log.ts';
import { type ConfigOfLog, prepareTopics } from '../run/topics.ts';
import type { Probe, ProbeResult } from './check.ts';
import type { CommandContext } from './command-context.ts';

export interface EnvironmentProbesOptions {
  /** The sections of the config that have no problems. */
  readonly sound: Partial<Config>;
  /** Spend a request per credential. */
  readonly online: boolean;
  readonly context: CommandContext;
}

/** The log waits for its brokers as long as they are away; who checks wants to know. */
const ANSWER_WITHIN_MS = 14_000;

/** What a run will need of the world: the log, and with `online` the services. */
export function environmentProbes({ sound, online, context }: EnvironmentProbesOptions): Probe[] {
  const probes: Probe[] = [];
  const { topics, followers, books } = sound;
  if (topics !== undefined) {
    const name = topics.driver === 'sqlite' ? `log ${topics.file}` : logAddress(topics);
    probes.push({ name, run: () => probeLog({ ...sound, topics }, context.clock) });
  }
  const service = { ...context, emit: () => undefined };
  const unusable = [
    ...(followers === undefined ? [] : failedProbe('followers', () => followersService(followers, service))),
    ...(books === undefined ? [] : failedProbe('books', () => booksService(books, service))),
  ];
  if (!online || unusable.length > 0) return [...probes, ...unusable];
  for (const credential of followers?.credentials ?? []) {
    if (followers === undefined) break;
    probes.push({
      name: `followers ${credential.name}`,
      run: async () => {
        await using api = followersService({ ...followers, credentials: [credential], retryForMs: 1 }, service);
        const [user = { screenName: 'headgate' }] = followers.users;
        return await answers(() =>
          api
            .pages({ ...user, count: 1, stringifyIds: followers.stringifyIds })
            .reader()
            .read({ credits: creditPool({ max: 1 }), signal: context.signal }),
        );
      },
    });
  }
  if (books !== undefined) {
    probes.push({
      name: `books (${books.plan})`,
      run: async () => {
        await using api = booksService({ ...books, retryForMs: 1 }, service);
        return await answers(() =>
          api.batch([books.isbns[0] ?? '9780140449136'], { credits: creditPool({ max: 1 }), signal: context.signal }),
        );
      },
    });
  }
  return probes;
}

/** A probe that says why a service can't be made: a proxy's address in the environment is none. None where it can. */
function failedProbe(name: string, make: () => AsyncDisposable): Probe[] {
  try {
    void make()[Symbol.asyncDispose]();
    return [];
  } catch (error) {
    return [{ name, run: () => Promise.reject(error) }];
  }
}

async function probeLog(config: ConfigOfLog, clock: Clock): Promise<ProbeResult> {
  const { topics } = config;
  if (topics.driver === 'sqlite' && !(await isLogThere(topics))) {
    // Looking must not leave a file behind.
    await access(await nearestFolder(dirname(topics.file)), constants.W_OK);
    return { ok: true, message: 'will be created' };
  }
  const startedMs = clock.monotonicMs();
  let missing: string | undefined;
  const log = await openTopicLog(topics, (change) => (missing = change.available ? undefined : change.reason));
  const answered = new AbortController();
  const late = pause(clock, ANSWER_WITHIN_MS - (clock.monotonicMs() - startedMs), answered.signal).then((): ProbeResult => {
    return { ok: false, message: missing ?? `no answer within ${ANSWER_WITHIN_MS / 1_000} s` };
  });
  try {
    return await Promise.race([lookAt(log, config), late]);
  } finally {
    answered.abort();
    await log.close();
  }
}

async function lookAt(log: TopicLog, config: ConfigOfLog): Promise<ProbeResult> {
  const { topics } = config;
  const { created, warnings } = await prepareTopics({ log, config, validateOnly: true });
  await assertStatesKept({ log, config, missing: created });
  const found = topics.driver === 'sqlite' ? 'can be read and written' : 'answers';
  return { ok: true, message: `${found}, ${topicsToMake(created)}`, warnings };
}

function topicsToMake({ length }: readonly string[]): string {
  if (length === 0) return 'all topics are there';
  return length === 1 ? '1 topic will be created' : `${length} topics will be created`;
}

async function nearestFolder(path: string): Promise<string> {
  try {
    await access(path);
    return path;
  } catch {
    return dirname(path) === path ? path : await nearestFolder(dirname(path));
  }
}

/** A credential is good when the service answers it, whatever it says of the user. */
async function answers(ask: () => Promise<unknown>): Promise<{ ok: boolean; message: string }> {
  try {
    await ask();
    return { ok: true, message: 'answers' };
  } catch (error) {
    const { endsSource, retryable, message } = error as { endsSource?: boolean; retryable?: boolean; message: string };
    return endsSource === true || retryable === true ? { ok: false, message } : { ok: true, message: `answers: ${message}` };
  }
}
