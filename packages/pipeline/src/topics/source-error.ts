import { TopicLogError } from '@headgate/topics';

/** The fields of every error of a source. They are checked instead of the class, because a process can have two copies of that class. */
interface SourceErrorShape {
  readonly code: string;
  readonly endsSource: boolean;
}

export function isSourceError(error: unknown): error is SourceErrorShape {
  return error instanceof Error && 'endsSource' in error && 'code' in error && typeof error.code === 'string';
}

/** True if a request failed because its source was stopped or closed. */
export function isStop(error: unknown): boolean {
  return isSourceError(error) && (error.code === 'HEADGATE_STOPPED' || error.code === 'HEADGATE_CLOSED');
}

/** True if the source can't continue, so that every further request would fail: for example, because no credential is left. */
export function endsSource(error: unknown): boolean {
  return isSourceError(error) && error.endsSource;
}

/** True for an error of the log, after which the lane can't continue. */
export function endsLane(error: unknown): boolean {
  return error instanceof TopicLogError;
}
