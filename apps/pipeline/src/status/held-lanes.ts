import type { RunEvent, ServiceName } from './run-event.ts';
import { safeText } from './text/safe-text.ts';

export type LaneEvent = Extract<RunEvent, { type: 'lane-opened' | 'lane-left' }>;

/** A lane, by its service and number. */
export interface HeldLane {
  readonly service: ServiceName;
  readonly lane: number;
}

export interface FailedLane extends HeldLane {
  readonly reason: string;
}

export interface HeldLanes {
  apply(event: LaneEvent): void;
  /** The lanes held, the followers' first, each service's by number. */
  readonly held: readonly HeldLane[];
  /** Those that can't go on. */
  readonly failed: readonly FailedLane[];
  /** Whether a service has, or had, more than one lane here, or a lane was left: else nobody needs to know of lanes. */
  readonly shared: boolean;
}

/** Keeps which lanes this process works. */
export function createHeldLanes(): HeldLanes {
  const held: Readonly<Record<ServiceName, Set<number>>> = { followers: new Set(), books: new Set() };
  const failed = new Map<string, FailedLane>();
  let shared = false;

  return {
    apply(event) {
      const { type, service, lane } = event;
      failed.delete(`${service} ${lane}`);
      if (type === 'lane-opened') held[service].add(lane);
      else held[service].delete(lane);
      if (type === 'lane-left' && event.failed)
        failed.set(`${service} ${lane}`, { service, lane, reason: safeText(event.reason ?? '', 500) });
      shared ||= type === 'lane-left' || held[service].size > 1;
    },
    get held() {
      return (['followers', 'books'] as const).flatMap((service) =>
        [...held[service]].toSorted((one, other) => one - other).map((lane) => ({ service, lane })),
      );
    },
    get failed() {
      return [...failed.values()];
    },
    get shared() {
      return shared;
    },
  };
}

/** Whether a crawl is one of a lane; a crawl's id is `<service>.requests-<lane>-<offset>`. */
export function isCrawlOf(crawl: string, { service, lane }: HeldLane): boolean {
  const prefix = `${service}.requests-${lane}-`;
  return crawl.startsWith(prefix) && /^\d+$/.test(crawl.slice(prefix.length));
}
