import { budgetSlots, type NamedBudget } from './budget-slots.ts';
import { nextReset } from './budgets.ts';
import type { RunningQuery } from './retry/executor.ts';
import type { SourceParts } from './source-parts.ts';
import type { QueryState, QueryStatus, Source, SourceBudgetGauge } from './source.ts';

/** Creates the functions that return the state of a source. */
export function sourceGauges(parts: SourceParts<never, unknown>): Pick<Source<unknown, unknown>, 'gauges' | 'slots'> {
  const { options, pool, credentials, admission, breaker, inFlight, shared, budgets: names } = parts;
  const { clock, concurrency } = options;

  const inUse = (): readonly NamedBudget[] => {
    const own = pool.members.flatMap(({ name }) => credentials.get(name)?.own ?? []);
    return pool.members.length === 0 ? [] : [...own, ...shared.all];
  };
  const budgetGauge = ({ credential, name, budget, of }: NamedBudget): SourceBudgetGauge => {
    const { limit, windowMs, used } = budget;
    const freeAt = budget.freeAt() + clock.epochMs() - clock.monotonicMs();
    return {
      ...(credential !== undefined && { credential }),
      budget: name,
      limit,
      windowMs,
      used,
      ...(freeAt < Infinity && { freeAt }),
      ...(of.unit !== undefined && { unit: of.unit }),
      ...('per' in of && { resetsAt: nextReset(of, clock.epochMs()) }),
    };
  };
  const isBusy = (some: readonly string[] = pool.members.map(({ name }) => name)): boolean =>
    some.length > 0 && some.every((name) => credentials.get(name)?.isFull === true);
  const row = ({ id, subject, weights, credentials: own }: RunningQuery, state: QueryState): QueryStatus => ({
    id,
    subject,
    weights: Object.fromEntries(names.map((name, i) => [name, weights[i] ?? 1])),
    ...(own !== undefined && { credentials: own }),
    ...state,
  });

  return {
    gauges() {
      const queued = admission.waiting();
      const outage = breaker.outage(queued.filter((one) => one.for === 'budget').length);
      const stateOf = ({ credentials: own }: RunningQuery, reason: 'budget' | 'downstream', at: number | undefined): QueryState => {
        const isHeld = outage !== undefined && reason === 'budget';
        const until = isHeld ? outage.retryAt : at;
        return {
          ...(isHeld ? { state: 'service-down' } : { state: 'queued', for: reason === 'budget' && isBusy(own) ? 'concurrency' : reason }),
          ...(until !== undefined && { until }),
        };
      };
      return {
        budgets: inUse().map(budgetGauge),
        queries: [
          ...queued.flatMap(({ label, for: reason, until }) => (label === undefined ? [] : [row(label, stateOf(label, reason, until))])),
          ...Array.from(inFlight).flatMap((running) => (running.state === undefined ? [] : [row(running, running.state)])),
        ],
        ...(outage !== undefined && { outage }),
      };
    },
    slots: () =>
      inUse().map((one) => ({
        ...budgetSlots(one, clock),
        ...(concurrency < Infinity && one.credential !== undefined && { concurrency }),
      })),
  };
}
