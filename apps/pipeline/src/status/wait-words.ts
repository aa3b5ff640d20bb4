import { groupedNumber } from './text/number-words.ts';
import { safeText } from './text/safe-text.ts';
import type { TimeWords } from './text/time-words.ts';
import type { Activity, BudgetGauge, CreditGauge, RunGauges, ServiceName } from './run-event.ts';

/** What an activity does or waits for, and until when: `next at 10:38:51`. */
export function activityWords(activity: Activity, now: number, times: TimeWords): string {
  const until = activity.until !== undefined && activity.until > now ? times.when(activity.until, now) : undefined;
  switch (activity.state) {
    case 'queued':
      return 'waits for its turn';
    case 'waiting-for-budget':
      return until === undefined ? 'waits for a free request' : `next at ${until}`;
    case 'waiting-for-downstream':
      return 'waits for the writer';
    case 'waiting-to-retry':
      return until === undefined ? 'tries again' : `tries again at ${until}`;
    case 'asking':
      return 'asking';
    case 'writing':
      return 'writing';
    case 'done':
      return 'done';
    case 'failed':
      return 'failed';
  }
}

/** A budget's name on a line: a followers' credential by its name, the books' by its plan. */
export function budgetName(budget: Pick<BudgetGauge, 'service' | 'credential'>): string {
  const name = safeText(budget.credential, 40);
  return budget.service === 'followers' || name === 'books' ? name : `books (${name})`;
}

/** The budgets that hold work up: of each service that waits for nothing but a budget, the one that is free first. */
export function holdingBudgets(gauges: RunGauges, now: number): ReadonlyMap<BudgetGauge, 'everything' | ServiceName> {
  const open = gauges.activities.filter((one) => one.state !== 'done' && one.state !== 'failed' && one.state !== 'queued');
  const services = [...new Set(open.map((one) => one.service))];
  const held = services.filter((service) => open.every((one) => one.service !== service || one.state === 'waiting-for-budget'));
  const holding = new Map<BudgetGauge, 'everything' | ServiceName>();
  for (const service of held) {
    const first = firstFree(gauges.budgets, service, now);
    if (first !== undefined) holding.set(first, services.length === 1 ? 'everything' : service);
  }
  return holding;
}

/** Whether anything is under way or waits to be. */
export function isBusy(gauges: RunGauges): boolean {
  return gauges.activities.some((one) => one.state !== 'done' && one.state !== 'failed');
}

/** The credits with no room for another page. */
export function fullCredits(gauges: RunGauges): readonly CreditGauge[] {
  return gauges.credits.filter(
    (credit) =>
      credit.used >= credit.max ||
      gauges.activities.some((one) => one.service === credit.service && one.state === 'waiting-for-downstream'),
  );
}

/** Why nothing is asked for: `20,000 ids unwritten (full): no request until it catches up`. */
export function creditWords(credit: CreditGauge): string {
  return `${groupedNumber(credit.used)} ${credit.service === 'followers' ? 'ids' : 'books'} unwritten (full): no request until it catches up`;
}

function firstFree(budgets: readonly BudgetGauge[], service: ServiceName, now: number): BudgetGauge | undefined {
  // With room in any of them nothing is held: the next request starts in a moment.
  const own = budgets.filter((one) => one.service === service);
  // A quota is taken beside the plan's budget, so each can hold; credentials are taken instead of each other, so only all can.
  const quotas = own.filter((one) => one.unit === 'isbns' && isHolding(one, now));
  const rest = own.filter((one) => one.unit !== 'isbns');
  if (quotas.length > 0) return quotas.toSorted(byFreeAt)[0];
  return rest.length > 0 && rest.every((one) => isHolding(one, now)) ? rest.toSorted(byFreeAt)[0] : undefined;
}

function isHolding(budget: BudgetGauge, now: number): boolean {
  return budget.freeAt === undefined ? budget.used >= budget.limit : budget.freeAt > now;
}

function byFreeAt(one: BudgetGauge, other: BudgetGauge): number {
  return (one.freeAt ?? Number.POSITIVE_INFINITY) - (other.freeAt ?? Number.POSITIVE_INFINITY);
}
