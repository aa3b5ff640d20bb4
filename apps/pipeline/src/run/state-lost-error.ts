import type { TopicsConfig } from '../config/config.ts';

/** Which of a lane's topics is gone: what it has done and its budgets have used, what was asked for, or what it has written. */
export type Loss = 'state' | 'wishes' | 'records';

/** A topic that a lane works with was deleted. */
export class StateLostError extends Error {
  override readonly name = 'StateLostError';
  readonly code = 'HEADGATE_STATE_LOST';
  readonly retryable = false;
  readonly loss: Loss;

  /** `what` is a sentence: what was lost, and where. */
  constructor(
    { what, loss, topics }: { readonly what: string; readonly loss: Loss; readonly topics: TopicsConfig },
    options?: ErrorOptions,
  ) {
    super(`${what} ${whatNow(loss, topics)}`, options);
    this.loss = loss;
  }
}

/** Whether the next run refuses to begin after that, until somebody has done what the error says. */
export function needsRepair(error: unknown): boolean {
  return error instanceof StateLostError && error.loss !== 'records';
}

function whatNow(loss: Loss, topics: TopicsConfig): string {
  if (loss === 'records') return 'What it held is gone. The next run makes it anew and goes on behind that.';
  const why = `Going on would ${loss === 'state' ? 'work wishes again and ask for more than the budgets allow' : 'take new wishes for finished ones'}.`;
  if (topics.driver === 'sqlite') return `${why} Restore the file from a backup, or start over with another topics.file.`;
  const { brokers, group } = topics;
  const forget =
    loss === 'state'
      ? `let Kafka forget how far it was: kafka-consumer-groups.sh --bootstrap-server ${brokers.join(',')} --delete --group ${group}`
      : 'set topics.group to another name.';
  return `${why} Restore it; or, to start over knowingly, stop all processes of the group, wait a window, and ${forget}`;
}
