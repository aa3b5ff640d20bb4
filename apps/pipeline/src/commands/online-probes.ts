import { openJournalledLane, topicNames } from '@headgate/pipeline';
import type { SourceGauges } from '@headgate/sources';
import { type Clock, creditPool, type Journal } from '@headgate/throttle';
import { LaneHeldError } from '@headgate/topics';
import type { Config, TopicsConfig } from '../config/config.ts';
import { configuredPipelines } from '../pipelines/configured.ts';
import { type ServiceContext, booksService, followersService } from '../run/services.ts';
import { prepareTopics } from '../run/topics.ts';
import type { ServiceName } from '../status/run-event.ts';
import { createTimeWords } from '../status/text/time-words.ts';
import type { Probe, ProbeResult } from './check.ts';
import type { CommandContext } from './command-context.ts';
import { ANSWER_WITHIN_MS, withLog } from './with-log.ts';

export interface OnlineProbesOptions {
  /** The sections of the config that have no problems. */
  readonly sound: Partial<Config>;
  readonly context: CommandContext;
  /** Whether the log was found to be as a run needs it. */
  readonly isLogSound: () => boolean;
}

/** A request for each credential. It is granted and noted in the journal of the credential's lane, as a run does: a run afterwards counts it. */
export function onlineProbes({ sound, context, isLogSound }: OnlineProbesOptions): Probe[] {
  const { topics, followers, books } = sound;
  const probe = (asked: Asked): (() => Promise<ProbeResult>) => {
    if (topics === undefined) return () => Promise.resolve(notNoted);
    return async () => (isLogSound() ? await askNoted({ asked, config: { ...sound, topics }, context }) : notNoted);
  };
  const ofFollowers = (followers?.credentials ?? []).map((credential, i): Probe => {
    const [user = { screenName: 'headgate' }] = followers?.users ?? [];
    const asked: Asked = {
      service: 'followers',
      lane: i % (topics?.lanes ?? 1),
      timeoutMs: followers?.timeoutMs ?? 0,
      async answer(io, ask) {
        if (followers === undefined) throw new TypeError('It has credentials.');
        await using api = followersService({ ...followers, credentials: [credential], retryForMs: 0 }, io);
        const { stringifyIds } = followers;
        const reader = api.pages({ ...user, count: 1, stringifyIds }).reader();
        return await ask(api.gauges(), () => reader.read({ credits: creditPool({ max: 1 }), signal: context.signal }));
      },
    };
    return { name: `followers ${credential.name}`, run: probe(asked) };
  });
  if (books === undefined) return ofFollowers;
  const asked: Asked = {
    service: 'books',
    lane: 0,
    timeoutMs: books.timeoutMs,
    async answer(io, ask) {
      await using api = booksService({ ...books, retryForMs: 0 }, io);
      const isbns = [books.isbns[0] ?? '9780140449136'];
      return await ask(api.gauges(), () => api.batch(isbns, { credits: creditPool({ max: 1 }), signal: context.signal }));
    },
  };
  return [...ofFollowers, { name: `books (${books.plan})`, run: probe(asked) }];
}

/** A credential to be tried. */
interface Asked {
  readonly service: ServiceName;
  readonly lane: number;
  /** Longest an answer may take. */
  readonly timeoutMs: number;
  /** Makes the service, and hands what it asks to `ask`. */
  answer(
    io: ServiceContext & { readonly journal: Journal },
    ask: (gauges: SourceGauges, request: () => Promise<unknown>) => Promise<ProbeResult>,
  ): Promise<ProbeResult>;
}

const notNoted: ProbeResult = { ok: false, message: 'not asked: its request could not be noted in the log, and a run would not count it' };

interface AskNotedOptions {
  readonly asked: Asked;
  readonly config: Partial<Config> & { readonly topics: TopicsConfig };
  readonly context: CommandContext;
}

async function askNoted({ asked, config, context }: AskNotedOptions): Promise<ProbeResult> {
  const { clock, signal } = context;
  const { service, lane: number } = asked;
  return await withLog({ topics: config.topics, clock }, async (log, within) => {
    const opening = prepareTopics({ log, config }).then(() => {
      const { group, lanes } = config.topics;
      const pipeline = configuredPipelines(config).find(({ name }) => name === service);
      if (pipeline === undefined) throw new TypeError(`${service} is configured.`);
      return openJournalledLane({ log, group, lanes, names: topicNames(), clock, pipeline, number, signal, onlyIfFree: true });
    });
    const opened = await within(ANSWER_WITHIN_MS, opening).catch((error: unknown) => {
      if (error instanceof LaneHeldError) return error;
      throw error;
    });
    if (opened instanceof LaneHeldError) {
      const by = opened.pid === null ? 'a run' : `a run (process ${opened.pid})`;
      return { ok: true, message: `not asked: ${by} works with it and counts its requests. That run says whether it is good.` };
    }
    const { lane, journal } = opened;
    try {
      return await asked.answer({ ...context, emit: () => undefined, journal }, async (gauges, request) => {
        const full = fullUntil(gauges, clock);
        if (full === undefined) return await within(ANSWER_WITHIN_MS + asked.timeoutMs, answers(request));
        return { ok: true, message: `not asked: its budget is used up${full}` };
      });
    } finally {
      await lane.close();
    }
  });
}

/** Two readings of a clock are no wait. */
const NO_WAIT_MS = 20;

/** Until when a budget lets nothing start, in words; undefined where all let one start now. */
function fullUntil({ budgets }: SourceGauges, clock: Clock): string | undefined {
  const now = clock.epochMs();
  const freeAt = Math.max(...budgets.map(({ freeAt: at = Infinity }) => at));
  if (freeAt <= now + NO_WAIT_MS) return undefined;
  return freeAt < Infinity ? ` until ${createTimeWords().when(freeAt, now)}` : '';
}

/** A credential is good when the service answers it, whatever it says of the user. */
async function answers(ask: () => Promise<unknown>): Promise<ProbeResult> {
  try {
    await ask();
    return { ok: true, message: 'answers' };
  } catch (error) {
    const { endsSource, retryable, message } = error as { endsSource?: boolean; retryable?: boolean; message: string };
    return endsSource === true || retryable === true ? { ok: false, message } : { ok: true, message: `answers: ${message}` };
  }
}
