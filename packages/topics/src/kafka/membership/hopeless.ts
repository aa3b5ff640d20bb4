import { GroupDisagreementError, GroupTakenError } from './group-errors.ts';

/** Answers of a broker that waiting doesn't change. ILLEGAL_SASL_STATE is none: after a time-out kafkajs begins again on the same connection. */
const FINAL = new Set([
  'GROUP_AUTHORIZATION_FAILED',
  'TOPIC_AUTHORIZATION_FAILED',
  'INVALID_GROUP_ID',
  'INVALID_SESSION_TIMEOUT',
  'INVALID_TOPIC_EXCEPTION',
  'UNSUPPORTED_SASL_MECHANISM',
]);

/** The error to give up with, or undefined when trying again may help. Everything that a broker's or a network's absence can cause may pass. */
export function hopeless(error: Error, group: string): Error | undefined {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (at instanceof GroupDisagreementError) return at;
    const type = 'type' in at ? String(at.type) : '';
    if (type === 'INCONSISTENT_GROUP_PROTOCOL') return new GroupTakenError({ group }, { cause: error });
    if (FINAL.has(type) || at.name === 'KafkaJSSASLAuthenticationError') return at;
  }
  return undefined;
}
