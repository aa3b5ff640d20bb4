import { access, constants } from 'node:fs/promises';
import { dirname } from 'node:path';
import { creditPool } from '@headgate/throttle';
import type { Config } from '../config/config.ts';
import { booksService, followersService } from '../run/services.ts';
import { topicSpecs } from '../records/topic-names.ts';
import { logAddress, openTopicLog } from '../run/open-topic-log.ts';
import type { Probe } from './check.ts';
import type { CommandContext } from './command-context.ts';

export interface EnvironmentProbesOptions {
  /** The sections of the config that have no problems. */
  readonly sound: Partial<Config>;
  /** Spend a request per credential. */
  readonly online: boolean;
  readonly context: CommandContext;
}

/** What a run will need of the world: the log, and with `online` the services. */
export function environmentProbes({ sound, online, context }: EnvironmentProbesOptions): Probe[] {
  const probes: Probe[] = [];
  const { topics, followers, books } = sound;
  if (topics?.driver === 'sqlite') probes.push({ name: `log ${topics.file}`, run: () => probeLog(topics) });
  if (topics?.driver === 'kafka') probes.push({ name: logAddress(topics), run: () => probeKafka(topics) });
  if (!online) return probes;
  const service = { ...context, emit: () => undefined };
  for (const credential of followers?.credentials ?? []) {
    if (followers === undefined) break;
    probes.push({
      name: `followers ${credential.name}`,
      run: async () => {
        await using api = followersService({ ...followers, credentials: [credential], retryForMs: 1 }, service);
        const [user = { screenName: 'headgate' }] = followers.users;
        return await answers(() =>
          api
            .pages({ ...user, count: 1 })
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

async function probeLog(topics: Extract<Config['topics'], { driver: 'sqlite' }>): Promise<{ ok: boolean; message: string }> {
  const { file } = topics;
  const exists = await access(file).then(
    () => true,
    () => false,
  );
  if (!exists) {
    // Looking must not leave a file behind.
    const parent = await nearestFolder(dirname(file));
    await access(parent, constants.W_OK);
    return { ok: true, message: 'will be created' };
  }
  const log = await openTopicLog(topics);
  await log.close();
  return { ok: true, message: 'can be read and written' };
}

async function probeKafka(topics: Extract<Config['topics'], { driver: 'kafka' }>): Promise<{ ok: boolean; message: string }> {
  await using log = await openTopicLog(topics);
  const there = new Set((await log.listTopics()).map(({ name }) => name));
  const missing = topicSpecs(topics.lanes).filter(({ name }) => !there.has(name));
  return {
    ok: true,
    message: missing.length === 0 ? 'answers, all topics are there' : `answers, ${missing.length} topics will be created`,
  };
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
