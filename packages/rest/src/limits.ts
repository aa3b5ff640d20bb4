import { duration } from '@headgate/pipeline';
import { timeOfDay, timeZone } from '@headgate/pipeline/internal';
import { type BudgetEvidence, type HttpResponse, budgetEvidence, jsonBody } from '@headgate/sources';
import { httpDate, waitMs } from '@headgate/throttle';
import * as z from 'zod';
import { numberOf, scalarOf } from './json-value.ts';
import { given, saidAt } from './places.ts';
import { timeOf } from './time.ts';
import { UTC } from './zone.ts';

/** Settings of every limit: whether all credentials share it, and the places in a response with its state. */
const everyLimit = {
  shared: z
    .boolean()
    .exactOptional()
    .describe('One limit over all credentials, such as that of an IP address or an application. Needs one lane. Default: false.'),
  left: given.exactOptional().describe('Path of the remaining requests, or `{ header: name }`, if the usual headers are missing.'),
  reset: given
    .exactOptional()
    .describe('Path of the time at which the budget resets: seconds from now, seconds or milliseconds since 1970, or a date.'),
};

const limit = z
  .strictObject({
    requests: z.int().positive().describe('Maximum requests in any window.'),
    window: duration()
      .describe('Length of the window.')
      .meta({ examples: ['15m'] }),
    ...everyLimit,
  })
  .transform(({ window, ...rest }) => ({ ...rest, windowMs: window }));

const quota = z.strictObject({
  requests: z.int().positive().describe('Maximum requests per day or month.'),
  per: z.enum(['day', 'month']).describe('Period between resets.'),
  resetsAt: timeOfDay().exactOptional().describe('Time of day of the reset. Default: 00:00.'),
  resetsOn: z.int().min(1).max(31).exactOptional().describe('Day of the month on which the limit resets.'),
  zone: timeZone().exactOptional().describe('Time zone of the reset. Default: UTC.'),
  ...everyLimit,
});

/** A limit as a section has it. */
const budget = z.union([limit, quota]).superRefine(({ left, reset }, context) => {
  if ((left === undefined) === (reset === undefined)) return;
  const [there, missing] = left === undefined ? ['reset', 'left'] : ['left', 'reset'];
  context.addIssue({
    code: 'custom',
    path: [there],
    message: `needs ${missing} as well. Write both, or neither: Headgate reads the usual headers itself.`,
  });
});

export const limitSettings = {
  limit: budget
    .exactOptional()
    .describe('Limit of the service for each credential, or for all of them: requests per window, day or month.'),
  budgets: z.record(z.string(), budget).exactOptional().describe('Several limits by name, instead of `limit`.'),
};

type Limits = Partial<z.output<z.ZodObject<typeof limitSettings>>>;

/** The limits of a section by name. */
export function limitsOf({ limit, budgets = {} }: Limits): NonNullable<Limits['budgets']> {
  return limit === undefined ? budgets : { rate: limit };
}

/**
 * Returns a function that reads the state of each budget from a response, at the places that the section sets. If the first budget has no
 * places, the function reads the usual headers for it. Undefined if no budget has places.
 */
export function evidenceOf(limits: Limits) {
  const all = Object.entries(limitsOf(limits));
  if (all.every(([, { left }]) => left === undefined)) return undefined;
  return (answer: HttpResponse, epochMs: number): Readonly<Record<string, BudgetEvidence | undefined>> => {
    let read: ReturnType<typeof jsonBody> | undefined;
    const body = (): unknown => {
      read ??= jsonBody(answer, JSON.parse);
      return read.kind === 'json' ? read.value : undefined;
    };
    return Object.fromEntries(
      all.map(([name, { left, reset }], i) => {
        if (left === undefined || reset === undefined) return [name, i === 0 ? budgetEvidence({ head: answer, epochMs }) : undefined];
        const remaining = numberOf(saidAt(left, answer, body)) ?? NaN;
        const resetInMs = waitAt(saidAt(reset, answer, body), answer, epochMs);
        return [name, remaining >= 0 && resetInMs !== undefined ? { remaining: Math.floor(remaining), resetInMs } : undefined];
      }),
    );
  };
}

/** A wait or an instant, in any form that services use, converted to ms from now. */
export function waitAt(said: unknown, { headers }: Pick<HttpResponse, 'headers'>, epochMs: number): number | undefined {
  const scalar = scalarOf(said);
  if (scalar === undefined || typeof scalar === 'boolean') return undefined;
  const wait = waitMs({ text: String(scalar), headers, epochMs });
  if (wait !== undefined) return wait;
  const at = (numberOf(scalar) ?? Infinity) < 0 ? undefined : timeOf(scalar, UTC);
  return at === undefined ? undefined : Math.max(0, at - (httpDate(headers['date']) ?? epochMs));
}
