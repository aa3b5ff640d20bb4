import { checkNumbers } from '../option-number.ts';
import { createHash } from 'node:crypto';

import type { Answer } from '../http/answer.ts';
import { jsonAnswer } from '../http/answer.ts';
import { booksMessage, catalogueAnswer } from './books-answers.ts';
import type { Catalogue } from './books-answers.ts';
import { parseBooksRequest } from './books-request.ts';
import { createDailyQuota } from './daily-quota.ts';
import type { DailyQuota, DailyQuotaOptions } from './daily-quota.ts';
import type { Exchange, Served } from '../http/loopback-server.ts';
import { SandboxOptionError } from '../sandbox-option-error.ts';
import { createRequestWindow } from '../http/window.ts';
import type { RequestWindow, WindowOptions } from '../http/window.ts';

/** A subscription plan with its own address. */
export type BooksPlan = 'default' | 'premium' | 'pro';

/** A key of the catalog. */
export interface BooksKey {
  /** Name of the key, shown in `ServedRequest.credential` instead of the key. */
  readonly name: string;
  /** The secret, which is the whole value of the Authorization header. */
  readonly key: string;
  /** The plan of the key. Default `default`. */
  readonly plan?: BooksPlan;
}

export interface BooksServiceOptions extends Catalogue {
  readonly keys: readonly BooksKey[] | undefined;
  readonly window: Partial<WindowOptions>;
  readonly dailyQuota: DailyQuotaOptions | undefined;
  readonly limitAnswer: '404' | '429' | 'both';
  readonly limit404Body: string;
}

const plans: readonly BooksPlan[] = ['default', 'premium', 'pro'];

/**
 * Creates a function that responds as the catalog does. It checks the key and its plan first, then the window and the quota, then the
 * request.
 */
export function createBooksService(options: BooksServiceOptions): (exchange: Exchange) => Served {
  const { keys, window, dailyQuota, limitAnswer, limit404Body, maxBatch } = options;
  const names = keys?.map(({ name }) => name) ?? [];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new SandboxOptionError(`Two keys are named "${twice}"; give each its own name.`);
  createRequestWindow(windowOptions('default', window));
  if (dailyQuota !== undefined) createDailyQuota(dailyQuota);
  checkNumbers({ maxBatch }, { least: 1 });
  const budgets = new Map<string, { readonly window: RequestWindow; readonly quota: DailyQuota | undefined }>();
  const keysSeen = new Map<string, string>();
  let refusals = 0;

  const recognise = (secret: string, plan: BooksPlan): { readonly name: string; readonly plan: BooksPlan } | undefined => {
    const found = keys?.find(({ key }) => key === secret);
    if (keys !== undefined) return found === undefined ? undefined : { name: found.name, plan: found.plan ?? 'default' };
    const digest = createHash('sha256').update(secret).digest('base64');
    const name = keysSeen.get(digest) ?? `key ${keysSeen.size + 1}`;
    keysSeen.set(digest, name);
    return { name, plan };
  };
  const limitReached = (message: string): Answer => {
    refusals += 1;
    const is404 = limitAnswer === '404' || (limitAnswer === 'both' && refusals % 2 === 0);
    return is404 ? jsonAnswer(404, limit404Body) : booksMessage(429, message);
  };

  return (exchange) => {
    const { headers, nowMs, fault } = exchange;
    const plan = plans[exchange.listener] ?? 'default';
    const request = parseBooksRequest(exchange);
    const asked = {
      ...('isbns' in request ? { isbns: request.isbns } : {}),
      ...('author' in request ? { author: request.author } : {}),
    };
    const secret = headers.authorization ?? '';
    const key = secret === '' ? undefined : recognise(secret, plan);
    if (key === undefined) {
      return { answer: booksMessage(401, 'Full authentication is required to access this resource'), refused: true, seen: asked };
    }
    const seen = { ...asked, credential: key.name };
    if (key.plan !== plan) {
      return {
        answer: booksMessage(403, `Access denied: this key is of the ${key.plan} plan, not of this address's`),
        refused: true,
        seen,
      };
    }
    const budget = budgets.get(`${plan} ${key.name}`) ?? {
      window: createRequestWindow(windowOptions(plan, window)),
      quota: dailyQuota === undefined ? undefined : createDailyQuota(dailyQuota),
    };
    budgets.set(`${plan} ${key.name}`, budget);
    if (!budget.window.take(nowMs).allowed) return { answer: limitReached('Limit Exceeded'), refused: true, seen };
    if (budget.quota?.take(asked.isbns?.length ?? 1, nowMs) === false) {
      return { answer: limitReached('Daily quota exceeded, please try again later'), refused: true, seen };
    }
    if (fault?.name === '429') {
      const retryAfter = fault.retryAfterMs === undefined ? {} : { 'retry-after': String(Math.ceil(fault.retryAfterMs / 1000)) };
      return { answer: booksMessage(429, 'Limit Exceeded', retryAfter), refused: false, seen };
    }
    if (fault?.name === '503') return { answer: booksMessage(fault.status ?? 503, 'Service Unavailable'), refused: false, seen };
    return { answer: catalogueAnswer(options, request), refused: false, seen };
  };
}

function windowOptions(plan: BooksPlan, window: Partial<WindowOptions>): WindowOptions {
  const limits: Readonly<Record<BooksPlan, number>> = { default: 1, premium: 3, pro: 5 };
  return { kind: 'rolling', limit: limits[plan], windowMs: 1000, ...window };
}
