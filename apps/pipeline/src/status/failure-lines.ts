import { eventWords, reasonWords } from './event-words.ts';
import type { Activity, RunEvent } from './run-event.ts';

type Failure = Extract<RunEvent, { type: 'crawl-failed' | 'dead-letter' }>;

export interface FailureLines {
  /** The line for a failure; undefined where the same failure has been said already. */
  say(event: Failure): string | undefined;
}

const rememberedFailures = 100;

/** Says each failure once: a failed crawl and its dead letter are two events and one line, whichever comes first. */
export function createFailureLines(options: { readonly activities: () => readonly Activity[] }): FailureLines {
  /** Said from one event, the other one still to come. */
  const halfSaid: { readonly type: Failure['type']; readonly about: string }[] = [];

  return {
    say(event) {
      const about = `${event.type === 'crawl-failed' ? event.user : event.key} ${event.error.code}`;
      const twin = halfSaid.findIndex((one) => one.about === about && one.type !== event.type);
      if (twin >= 0) {
        halfSaid.splice(twin, 1);
        return undefined;
      }
      halfSaid.push({ type: event.type, about });
      if (halfSaid.length > rememberedFailures) halfSaid.shift();
      return event.type === 'crawl-failed' ? crawlFailed(event) : eventWords(event);
    },
  };

  function crawlFailed(event: Extract<RunEvent, { type: 'crawl-failed' }>): string {
    const others = options.activities().some((one) => one.service === 'followers' && one.subject !== event.user && !isOver(one.state));
    return `${reasonWords(event.user, event.error)} Its request is in followers.dead-letters${others ? '; the other crawls go on' : ''}.`;
  }
}

function isOver(state: Activity['state']): boolean {
  return state === 'done' || state === 'failed';
}
