/** The status server could not be given a port. */
export class StatusPortError extends Error {
  override readonly name = 'StatusPortError';
  readonly code = 'HEADGATE_STATUS_PORT';
  readonly retryable: boolean = false;

  constructor(options: { readonly host: string; readonly port: number; readonly last: number; readonly cause?: NodeJS.ErrnoException }) {
    const { host, port, last, cause } = options;
    const what =
      cause === undefined
        ? `ports ${port} to ${last} on ${host} are all in use`
        : `${host}:${port} can't be used (${cause.code ?? cause.message})`;
    super(
      `The status page has no port: ${what}. Set status.port and status.host to free ones, or status: false.`,
      cause === undefined ? {} : { cause },
    );
  }
}
