/**
 * No connection to a broker, or one that was lost. `cause`: the reason, which can also come from the user's token provider. Whether another attempt
 * helps depends on the cause: see `passes`.
 */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  /** `host:port` */
  readonly broker: string;

  constructor(broker: string, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.broker = broker;
  }
}
