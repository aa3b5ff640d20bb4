/** Thrown if a command can't do what its command line says. The command then ends with exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly code = 'HEADGATE_USAGE';
  readonly retryable = false;
}

/** The error for an unknown pipeline: `cancel: there is no pipeline x. There are followers, books.` */
export function noPipeline(command: string, name: string, known: readonly string[], advice = ''): UsageError {
  return new UsageError(`${command}: there is no pipeline ${name}. There are ${known.join(', ')}.${advice}`);
}
