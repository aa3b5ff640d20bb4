/** No broker can be had: a tool is missing, Maven failed, or a node didn't start; the message has the end of its output. */
export class KafkaBrokerError extends Error {
  readonly code = 'HEADGATE_KAFKA_BROKER';
  readonly retryable: boolean = false;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'KafkaBrokerError';
  }
}
