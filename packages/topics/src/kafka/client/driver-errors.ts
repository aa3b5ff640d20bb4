import { TopicLogError } from '../../topic-log-error.ts';
import { type ErrorKind, KAFKA_ERRORS, type KafkaErrorName, kafkaError } from './kafka-errors.ts';

/** Properties of the errors that the driver throws, and of their causes. */
export interface DriverError extends Error {
  /** Name in Kafka's protocol, if a broker returned the error. */
  readonly type?: string | undefined;
  readonly code?: number | string;
  readonly topic?: string;
  readonly partition?: number;
  /** `host:port` of the broker, on an error of a connection. */
  readonly broker?: unknown;
  readonly cause?: unknown;
}

/** Built-in JavaScript errors. They are defects of Headgate, unless a connection failed with one, as the user's token provider can. */
const OWN = new Set(['TypeError', 'RangeError', 'ReferenceError', 'SyntaxError']);

/** Yields an error, its causes, and the errors that any of these combines (`errors`), each with its own causes. */
export function* chain(error: unknown): Iterable<DriverError> {
  for (let at = error; at instanceof Error; at = at.cause) {
    yield at;
    if ('errors' in at && Array.isArray(at.errors)) for (const each of at.errors) yield* chain(each);
  }
}

/** The code of an error that a broker returned; undefined for any other error. */
function answeredCode(error: DriverError): number | undefined {
  return 'type' in error && typeof error.code === 'number' ? error.code : undefined;
}

/** What to do about an error that a broker returned; undefined for any other error. */
export function kindOf(error: DriverError): ErrorKind | undefined {
  const code = answeredCode(error);
  return code === undefined ? undefined : kafkaError(code).kind;
}

/** True if a broker returned one of these errors: `error` itself, one of its causes, or an error that it combines. */
export function isAnswer(error: unknown, ...names: readonly KafkaErrorName[]): boolean {
  const codes = new Set<number | undefined>(names.map((name) => KAFKA_ERRORS[name].code));
  return [...chain(error)].some((each) => codes.has(answeredCode(each)));
}

/** True if another attempt can succeed. Otherwise the error is final. */
export function passes(error: unknown): boolean {
  let isOfConnection = false;
  for (const each of chain(error)) {
    if (kindOf(each) === 'final') return false;
    const { name, code } = each;
    isOfConnection ||= name === 'ConnectionError';
    if (OWN.has(name) && !isOfConnection) return false;
    if (typeof code === 'string' && (code.startsWith('HEADGATE_') || code.startsWith('ERR_TLS') || code.startsWith('ERR_SSL')))
      return false;
  }
  return error instanceof Error;
}

/**
 * Returns the text of the innermost cause. If one of Headgate's own errors comes first, returns the
 * message of that error instead, which says more than its cause.
 */
export function failureText(error: unknown): string {
  let text = String(error);
  for (const each of chain(error)) {
    if (isOurs(each.code)) return each.message;
    text = answerText(each);
  }
  return text.trim();
}

/** The message of an error, for one that a broker returned with its name in Kafka's protocol. */
function answerText(error: DriverError): string {
  const { message, type = 'see "Error Codes" of Kafka\'s protocol' } = error;
  const code = answeredCode(error);
  return code === undefined ? message : `${kafkaError(code).text ?? message} (${type})`;
}

/**
 * Returns the error to throw if waiting doesn't help: for a refusal by brokers, a new one with a readable message; for Headgate's own error,
 * that error without what wraps it; otherwise `error` itself.
 */
export function driverError(error: unknown): unknown {
  for (const each of chain(error)) {
    if (isOurs(each.code)) return each;
    if (answeredCode(each) !== undefined) {
      const message = `The brokers refused the request${aboutTopic(each.topic)}: ${refusalText(each)}`;
      return new TopicLogError({ code: 'HEADGATE_BROKERS_REFUSE', message }, { cause: error });
    }
  }
  return error;
}

/** Returns the message of a final error if it is a refusal by brokers or Headgate's own error; otherwise undefined. */
export function refusal(error: unknown): string | undefined {
  const final = passes(error) ? undefined : driverError(error);
  return final instanceof Error && 'code' in final && isOurs(final.code) ? final.message : undefined;
}

/** Returns why a broker refused a request, and what to do. `answer`: the error of the response. */
export function refusalText(answer: DriverError): string {
  const { cure = 'The broker logs may say more.' } = kafkaError(answeredCode(answer) ?? NaN);
  return `${failureText(answer).replace(/\.$/u, '')}. ${cure}`;
}

export function aboutTopic(topic: string | undefined): string {
  return topic === undefined ? '' : ` for topic "${topic}"`;
}

function isOurs(code: unknown): boolean {
  return typeof code === 'string' && code.startsWith('HEADGATE_');
}
