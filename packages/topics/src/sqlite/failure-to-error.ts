import { LaneHeldError, LaneLostError } from '../lane-errors.ts';
import { InvalidRecordError, TopicMismatchError, TopicUnknownError } from '../topic-errors.ts';
import {
  TopicLogBusyError,
  TopicLogClosedError,
  TopicLogCorruptError,
  TopicLogFailedError,
  TopicLogFullError,
  TopicLogGoneError,
  TopicLogOpenError,
  TopicLogVersionError,
} from '../topic-log-errors.ts';
import type { Failure } from './worker-protocol.ts';

/** The public error for what the worker refused. */
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
      return new TopicLogVersionError(failure);
    case 'open':
      return new TopicLogOpenError(failure, { cause: new Error(failure.detail) });
    case 'full':
      return new TopicLogFullError(failure, { cause: new Error(failure.detail) });
    case 'corrupt':
      return new TopicLogCorruptError(failure);
    case 'gone':
      return new TopicLogGoneError(failure);
    case 'busy':
      return new TopicLogBusyError(failure, { cause: new Error(failure.detail) });
    case 'closed':
      return new TopicLogClosedError(failure);
    case 'failed':
      return new TopicLogFailedError(failure);
  }
}
