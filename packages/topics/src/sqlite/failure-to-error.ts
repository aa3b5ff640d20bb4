import { basename } from 'node:path';
import { LaneHeldError, LaneLostError } from '../lane-errors.ts';
import { InvalidRecordError, TopicMismatchError, TopicUnknownError } from '../topic-errors.ts';
import { TopicLogError, closedError } from '../topic-log-error.ts';
import type { Failure } from './worker-protocol.ts';

// oxlint-disable-next-line typescript/consistent-return -- the return type makes the compiler prove the switch complete
export function failureToError(failure: Failure): Error {
  switch (failure.kind) {
    case 'lane-held':
      return new LaneHeldError(failure);
    case 'lane-lost':
      return new LaneLostError(failure);
    case 'topic-mismatch':
      return new TopicMismatchError(failure);
    case 'topic-unknown':
      return new TopicUnknownError(failure);
    case 'invalid-record':
      return new InvalidRecordError(failure);
    case 'range':
      return new RangeError(failure.reason);
    case 'version':
      return new TopicLogError({
        code: 'HEADGATE_TOPIC_LOG_VERSION',
        message:
          `The topic log ${failure.file} has schema version ${failure.version}; this release knows versions up to ${failure.known}. ` +
          'Upgrade Headgate, or use another file. Headgate did not change this one.',
      });
    case 'open': {
      const message = `The topic log ${failure.file} can't be opened: ${failure.reason}`;
      return new TopicLogError({ code: 'HEADGATE_TOPIC_LOG_OPEN', message }, { cause: new Error(failure.detail) });
    }
    case 'full': {
      const message =
        `There is no space to write the topic log ${failure.file} (disk full, or a quota or size limit reached). Nothing was written and nothing ` +
        'committed is lost. Free some space on that disk or raise the limit, then try again.';
      return new TopicLogError({ code: 'HEADGATE_TOPIC_LOG_FULL', retryable: true, message }, { cause: new Error(failure.detail) });
    }
    case 'corrupt':
      return new TopicLogError({
        code: 'HEADGATE_TOPIC_LOG_CORRUPT',
        message:
          `The topic log ${failure.file} is damaged (${failure.detail}). Stop everything that uses it and keep a copy; then restore a backup, or ` +
          'save what can be read with `sqlite3 FILE .recover`.',
      });
    case 'gone': {
      const { file, path, replaced } = failure;
      const name = basename(file);
      const message =
        `${path} was ${replaced ? 'replaced' : 'deleted or moved'} while the topic log was in use; later writes are not confirmed. Stop every process that ` +
        `uses the log. Then put ${name} back, together with ${name}-wal if it exists, or restore a backup; or start over with a new file.`;
      return new TopicLogError({ code: 'HEADGATE_TOPIC_LOG_GONE', message });
    }
    case 'busy': {
      const message =
        `The topic log ${failure.file} was locked by another process for more than ${failure.busyTimeoutMs} ms; nothing was written. ` +
        'Try again, or find the process that holds it.';
      return new TopicLogError({ code: 'HEADGATE_TOPIC_LOG_BUSY', retryable: true, message }, { cause: new Error(failure.detail) });
    }
    case 'closed':
      return closedError(failure.what);
    case 'failed':
      return failedError(failure);
  }
}

/** Returns the error of a log that has failed for the reason in `detail`. */
export function failedError({ file, detail }: { readonly file: string; readonly detail: string }, options?: ErrorOptions): TopicLogError {
  const message = `The topic log ${file} failed: ${detail}. Close and reopen it, and read its state before you write again.`;
  return new TopicLogError({ code: 'HEADGATE_TOPIC_LOG_FAILED', retryable: true, message }, options);
}
