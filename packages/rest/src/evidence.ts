import { type BudgetEvidence, type HttpResponse, budgetEvidence, jsonBody } from '@headgate/sources';
import type { RestOptions } from './language.ts';
import { numberOf, scalarOf } from './json-value.ts';
import type { Path } from './path.ts';
import { timeOf } from './time.ts';

/** A number below this is a wait in seconds. Any other number is a time since 1970. In seconds, this number would be in March 1973. */
const EPOCH_S = 1e8;

export type Said = Path | { readonly header: string };

export function saidAt(place: Said, { headers }: Pick<HttpResponse, 'headers'>, body: () => unknown): unknown {
  return 'header' in place ? headers[place.header.toLowerCase()] : place.first(body());
}

/**
 * Returns a function that reads the state of each budget from a response, at the places that the section sets. If the first budget has no
 * places, the function reads the usual headers for it. Undefined if no budget has places.
 */
export function evidenceOf({ limit, budgets = {} }: Pick<RestOptions, 'limit' | 'budgets'>) {
  const all = Object.entries(limit === undefined ? budgets : { rate: limit });
  if (all.every(([, { left }]) => left === undefined)) return undefined;
  return (answer: HttpResponse, epochMs: number): Readonly<Record<string, BudgetEvidence | undefined>> => {
    let parsed: { readonly value: unknown } | undefined;
    const body = (): unknown => {
      const read = jsonBody(answer, JSON.parse);
      parsed ??= { value: read.kind === 'json' ? read.value : undefined };
      return parsed.value;
    };
    return Object.fromEntries(
      all.map(([name, { left, reset }], i) => {
        if (left === undefined || reset === undefined) return [name, i === 0 ? budgetEvidence({ head: answer, epochMs }) : undefined];
        const remaining = numberOf(saidAt(left, answer, body)) ?? NaN;
        const resetInMs = waitMs(saidAt(reset, answer, body), epochMs);
        return [name, remaining >= 0 && resetInMs !== undefined ? { remaining: Math.floor(remaining), resetInMs } : undefined];
      }),
    );
  };
}

/** Seconds from now, a number since 1970 in any unit, or a date, converted to ms from now. */
function waitMs(said: unknown, epochMs: number): number | undefined {
  const number = numberOf(said) ?? NaN;
  if (number >= 0 && number < EPOCH_S) return number * 1_000;
  const at = timeOf(scalarOf(said));
  return at === undefined ? undefined : at - epochMs;
}
