/** A broker can't be started or used: for example, a tool is missing, Maven failed, or a node isn't running. The message names the cause. */
export class KafkaBrokerError extends Error {
  /** Identifies the error even if `instanceof` can't: in a program with two copies of this package. */
  readonly code = 'HEADGATE_KAFKA_BROKER';
  /** False: the user must fix the cause first. */
  readonly retryable: boolean = false;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'KafkaBrokerError';
  }
}
