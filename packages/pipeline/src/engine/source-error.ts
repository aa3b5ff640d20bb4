import { TopicLogError } from '@headgate/topics';

/** Every error of a source has these. They are read by shape, so that two copies of a package work together. */
interface SourceErrorShape {
  readonly code: string;
  readonly endsSource: boolean;
}

export function isSourceError(error: unknown): error is SourceErrorShape {
  return error instanceof Error && 'endsSource' in error && 'code' in error && typeof error.code === 'string';
}

/** True when a request failed because its source was stopped. */
export function isStop(error: unknown): boolean {
  return isSourceError(error) && (error.code === 'HEADGATE_STOPPED' || error.code === 'HEADGATE_CLOSED');
}

/** True when no credential is left, so that every further request fails. */
export function endsSource(error: unknown): boolean {
  return isSourceError(error) && error.endsSource;
}

/** True when the log failed, so that its lane can't continue. */
export function endsLane(error: unknown): boolean {
  return error instanceof TopicLogError;
}
