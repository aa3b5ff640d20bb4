import { Observable, Subject } from 'rxjs';
import type { RunEvent } from './events.ts';

/** Maximum events that are kept for the first subscriber. */
const KEPT_EVENTS = 10_000;

/** Passes events to any number of subscribers. The first one also gets the events before its subscription. */
export interface EventStream {
  readonly events: Observable<RunEvent>;
  /** True after the first subscription. */
  readonly isObserved: boolean;
  emit(event: RunEvent): void;
  complete(): void;
}

export function eventStream(): EventStream {
  const subject = new Subject<RunEvent>();
  let kept: RunEvent[] | undefined = [];
  return {
    events: new Observable((subscriber) => {
      for (const event of kept ?? []) subscriber.next(event);
      kept = undefined;
      return subject.subscribe(subscriber);
    }),
    get isObserved() {
      return kept === undefined;
    },
    emit(event) {
      if (kept !== undefined && kept.length < KEPT_EVENTS) kept.push(event);
      subject.next(event);
    },
    complete: () => subject.complete(),
  };
}
