import type { SourceGauges } from '@headgate/sources';
import type { Clock, CreditPool, Waiting } from '@headgate/throttle';
import type { Activity, RunGauges, ServiceName } from '../status/run-event.ts';

export interface ServiceGaugesOptions {
  readonly service: ServiceName;
  readonly gauges: SourceGauges;
  readonly credits: CreditPool;
  readonly clock: Clock;
}

const DAY_MS = 86_400_000;
/** Less than a display's own delay is no wait. */
const NO_WAIT_MS = 20;

/** How one service stands, as displays want it. */
export function serviceGauges({ service, gauges, credits, clock }: ServiceGaugesOptions): RunGauges {
  const now = clock.epochMs();
  return {
    budgets: gauges.budgets.map(({ freeAt, ...budget }) => ({
      service,
      ...budget,
      // Beside the plan's requests a second there may be a quota of ISBNs a day.
      ...(service === 'books' && budget.windowMs === DAY_MS && { unit: 'isbns' as const }),
      ...(freeAt !== undefined && { freeAt: freeAt <= now + NO_WAIT_MS ? 0 : freeAt }),
    })),
    credits: [{ service, max: credits.max, used: credits.outstanding }],
    activities:
      service === 'followers' ? gauges.waiting.map((waiting) => activity(service, waiting.label, waiting)) : bookActivities(gauges.waiting),
  };
}

/** Batches and authors are many; a display has a line for each of the two kinds. */
function bookActivities(all: readonly Waiting[]): Activity[] {
  const isBatch = ({ label }: Waiting): boolean => /^\d+ ISBNs? from /.test(label) || /^\d{13}$/.test(label);
  const isbns = all.find(isBatch);
  const authors = all.find((waiting) => !isBatch(waiting));
  return [
    ...(isbns === undefined ? [] : [activity('books', 'isbns', isbns)]),
    ...(authors === undefined ? [] : [activity('books', 'authors', authors)]),
  ];
}

function activity(service: ServiceName, subject: string, { for: what, until }: Waiting): Activity {
  const state = what === 'budget' ? 'waiting-for-budget' : 'waiting-for-downstream';
  return { service, subject, state, ...(until !== undefined && { until }) };
}
