import { SourceError } from './source-error.ts';

export interface OfDefinitionOptions<T> {
  readonly service: string;
  /** Absent where it isn't known yet. */
  readonly subject?: string;
  /** The function of the definition that is called. */
  readonly name: string;
  readonly call: () => T;
}

/** Calls a function of a definition. Throws a `SourceError` with `HEADGATE_DEFINITION` for whatever else it throws: that is about this ask alone. */
export function ofDefinition<T>({ service, subject, name, call }: OfDefinitionOptions<T>): T {
  try {
    return call();
  } catch (cause) {
    if (cause instanceof SourceError) throw cause;
    const words = cause instanceof Error ? `${cause.name}: ${cause.message}` : 'a value that is no Error';
    const message = `${subject ?? service}: ${name} of the ${service} source threw ${words}. This is a fault of the source: mend its definition.`;
    throw new SourceError({
      code: 'HEADGATE_DEFINITION',
      retryable: false,
      service,
      message,
      cause,
      ...(subject !== undefined && { subject }),
    });
  }
}
