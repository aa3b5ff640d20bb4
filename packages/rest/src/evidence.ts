import { type BudgetEvidence, type HttpResponse, budgetEvidence, jsonBody } from '@headgate/sources';
import { httpDate, waitMs } from '@headgate/throttle';
import type { RestOptions } from './language.ts';
import { numberOf, scalarOf } from './json-value.ts';
import { saidAt } from './places.ts';
import { timeOf } from './time.ts';
import { UTC } from './zone.ts';

/**
 * Returns a function that reads the state of each budget from a response, at the places that the section sets. If the first budget has no
 * places, the function reads the usual headers for it. Undefined if no budget has places.
 */
export function evidenceOf({ limit, budgets = {} }: Pick<RestOptions, 'limit' | 'budgets'>) {
  const all = Object.entries(limit === undefined ? budgets : { rate: limit });
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
