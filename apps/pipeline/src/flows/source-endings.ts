import { SourceError } from '@headgate/sources';

/** Whether a request came to nothing because we were asked to stop. */
export function isStop(error: unknown): boolean {
  return error instanceof SourceError && (error.code === 'HEADGATE_STOPPED' || error.code === 'HEADGATE_CLOSED');
}

/** Whether an error is about what was asked for, so that it ends this one and no other. */
export function endsOneRequestOnly(error: unknown): error is SourceError {
  return error instanceof SourceError && !isStop(error) && !error.endsSource;
}
