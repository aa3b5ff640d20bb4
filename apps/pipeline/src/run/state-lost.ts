import { type Loss, StateLostError } from '@headgate/pipeline';
import type { TopicsConfig } from '../config/topics-section.ts';
import { startOverKey } from './topics.ts';

/** Replaces a `StateLostError`. The message contains advice for the configured log. */
class StateAdviceError extends Error {
  override readonly name = 'StateAdviceError';
  readonly code = 'HEADGATE_STATE_LOST';
  readonly retryable = false;
}

/** Adds advice for the configured log to a `StateLostError`. Returns any other error unchanged. */
export function withStateAdvice(error: unknown, topics: TopicsConfig): unknown {
  if (!(error instanceof StateLostError)) return error;
  return new StateAdviceError(`${error.what} ${adviceFor(error.loss, topics)}`, { cause: error });
}

/** Whether the next run refuses to start until the user has followed the advice. */
export function needsRepair(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof StateLostError && (cause.loss === 'state' || cause.loss === 'requests');
}

function adviceFor(loss: Loss, topics: TopicsConfig): string {
  if (loss === 'records') return 'Its records are lost. The next run creates it again and continues after them.';
  if (loss === 'end') return "Run again: the next run continues from what the log has, or says why it can't.";
  const why = `Continuing would ${loss === 'state' ? 'repeat finished jobs and overrun the budgets' : 'treat new jobs as finished'}.`;
  if (topics.driver !== 'kafka') return `${why} Restore the log from a backup, or start over with another ${startOverKey(topics)}.`;
  const { brokers, group } = topics;
  const forget =
    loss === 'state'
      ? `delete the offsets of the group: kafka-consumer-groups.sh --bootstrap-server ${brokers.join(',')} --delete --group ${group}`
      : 'set topics.group to another name.';
  return `${why} Restore it. Or, to start over on purpose, stop all processes of the group, wait for one window, and ${forget}`;
}
