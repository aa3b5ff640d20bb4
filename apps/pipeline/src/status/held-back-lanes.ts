import type { RunEvent, ServiceName } from './run-event.ts';

export type HeldBackEvent = Extract<RunEvent, { type: 'requests-held-back' | 'requests-readable' }>;

/** A lane whose requests wait for the end of another client's transaction. */
export interface HeldBackLane {
  readonly service: ServiceName;
  readonly lane: number;
  /** Of the transaction's first record. */
  readonly offset: number;
  /** Epoch ms. */
  readonly since: number;
}

/** What a lane waits for: `followers.requests partition 0: since 10:31:04 another client's open transaction (offset 12) holds requests back; …`. */
export function heldBackWords({ service, lane, offset }: HeldBackLane, since: string): string {
  return (
    `${service}.requests partition ${lane}: since ${since} another client's open transaction (offset ${offset}) holds requests back; ` +
    'they are worked when it ends'
  );
}

/** A change of that, on one line. */
export function heldBackEventWords(event: HeldBackEvent): string {
  if (event.type === 'requests-held-back') return heldBackWords(event, new Date(event.since).toISOString());
  return `${event.service}.requests partition ${event.lane}: the transaction it waited for has ended`;
}
