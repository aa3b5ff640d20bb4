import type { RunEvent as EngineEvent, RunGauges as EngineGauges } from '@headgate/pipeline';
import type { Activity, RunEvent, RunGauges, ServiceName } from './run-event.ts';

/** The display's events of an event of the engine. */
export function displayEvents(event: EngineEvent): readonly RunEvent[] {
  switch (event.type) {
    case 'request-started': {
      const { pipeline, key, request, page, resumed } = event;
      if (pipeline === 'books') return [{ type: 'books-queued', isbns: 0, authors: 1 }];
      return [{ type: 'crawl-started', user: key, crawl: request, page, resumed }];
    }
    case 'page-written': {
      const { pipeline, key, request, page, items, last, credential = '' } = event;
      if (pipeline === 'books') return [{ type: 'author-written', author: key, page, last, books: items }];
      return [{ type: 'page-written', user: key, crawl: request, page, ids: items, credential }];
    }
    case 'request-completed': {
      const { pipeline, key, request, pages, items } = event;
      if (pipeline === 'books') return [];
      return [{ type: 'crawl-completed', user: key, crawl: request, pages, ids: items }];
    }
    case 'request-failed': {
      const { pipeline, key, request, error } = event;
      return pipeline === 'books' ? [] : [{ type: 'crawl-failed', user: key, crawl: request, error }];
    }
    case 'keys-queued':
      return [{ type: 'books-queued', isbns: event.count, authors: 0 }];
    case 'records-written': {
      const { records = 0, missing = 0, authors = 0 } = event.counts;
      return event.pipeline === 'books' && authors === 0 ? [{ type: 'books-written', found: records, missing }] : [];
    }
    case 'after-written': {
      const { key, request, counts } = event;
      const { followed = 0, unfollowed = 0 } = counts;
      return [{ type: 'changes-written', user: key, crawl: request, followed, unfollowed }];
    }
    case 'keys-answered':
      return [];
    case 'dead-letter':
      return [{ type: 'dead-letter', topic: event.topic, key: event.key, error: event.error }];
    case 'attempt': {
      const { pipeline, ...attempt } = event;
      return [{ ...attempt, type: 'request', service: pipeline as ServiceName }];
    }
    case 'lane-opened':
    case 'lane-left': {
      const { pipeline, ...lane } = event;
      return [{ ...lane, service: pipeline as ServiceName }];
    }
    case 'requests-blocked':
      return [
        { type: 'requests-held-back', service: event.pipeline as ServiceName, lane: event.lane, offset: event.offset, since: event.since },
      ];
    case 'requests-readable':
      return [{ type: 'requests-readable', service: event.pipeline as ServiceName, lane: event.lane }];
    case 'notice':
    case 'lanes-assigned':
    case 'lanes-elsewhere':
      return [event];
  }
}

const DAY_MS = 86_400_000;

/** The display's gauges of the engine's. */
export function displayGauges({ budgets, credits, waiting }: EngineGauges): RunGauges {
  return {
    budgets: budgets.map(({ pipeline, ...budget }) => ({
      service: pipeline as ServiceName,
      ...budget,
      // Beside the plan's requests a second there may be a quota of ISBNs a day.
      ...(pipeline === 'books' && budget.windowMs === DAY_MS && { unit: 'isbns' as const }),
    })),
    credits: credits.map(({ pipeline, max, used }) => ({ service: pipeline as ServiceName, max, used })),
    activities: [
      ...waiting.filter(({ pipeline }) => pipeline === 'followers').map((one) => activity('followers', one.label, one)),
      ...bookActivities(waiting.filter(({ pipeline }) => pipeline === 'books')),
    ],
  };
}

/** Batches and authors are many; a display has a line for each of the two kinds. */
function bookActivities(all: EngineGauges['waiting']): Activity[] {
  const isBatch = ({ label }: { readonly label: string }): boolean => /^\d+ ISBNs? from /.test(label) || /^\d{13}$/.test(label);
  const isbns = all.find(isBatch);
  const authors = all.find((waiting) => !isBatch(waiting));
  return [
    ...(isbns === undefined ? [] : [activity('books', 'isbns', isbns)]),
    ...(authors === undefined ? [] : [activity('books', 'authors', authors)]),
  ];
}

function activity(service: ServiceName, subject: string, { for: what, until }: EngineGauges['waiting'][number]): Activity {
  const state = what === 'budget' ? 'waiting-for-budget' : 'waiting-for-downstream';
  return { service, subject, state, ...(until !== undefined && { until }) };
}
