import { TopicLogError } from '../../topic-log-error.ts';
import { MissingRightError } from '../../missing-right-error.ts';
import { type ErrorKind, KAFKA_ERRORS, errorKind, newerError } from './kafka-errors.ts';

/** What helps against an error: another attempt, a right that must be granted, or neither. */
export type Verdict = 'passes' | 'right' | 'final';

/** Properties of kafkajs's errors. An error after several attempts has the last attempt's error as its cause. */
interface KafkaJsError extends Error {
  /** The error's name in Kafka's protocol, if a broker returned it. */
  readonly type?: string;
  readonly code?: number | string;
  readonly topic?: string;
  /** `host:port` of the broker, on an error of a connection. */
  readonly broker?: unknown;
  readonly cause?: unknown;
  /** Set on errors that kafkajs threw, and on errors that are thrown to kafkajs. */
  readonly retriable?: boolean;
}

/**
 * kafkajs's own errors that a new connection doesn't fix. kafkajs gives up after other errors, too, but those concern one client object,
 * which the driver replaces after an error.
 */
const FINAL_FAULTS: ReadonlySet<string> = new Set([
  'KafkaJSSASLAuthenticationError',
  'KafkaJSNotImplemented',
  'KafkaJSServerDoesNotSupportApiKey',
]);

/** Built-in JavaScript errors. They are defects of Headgate unless kafkajs threw them (`ofKafkajs`). */
const OWN = new Set(['TypeError', 'RangeError', 'ReferenceError', 'SyntaxError']);

/** Yields an error, its causes, and the errors that any of these combines (`errors`), each with its own causes. */
export function* chain(error: unknown): Iterable<KafkaJsError> {
  for (let at = error; at instanceof Error; at = at.cause) {
    yield at;
    if ('errors' in at && Array.isArray(at.errors)) for (const each of at.errors) yield* chain(each);
  }
}

/** The kind of an error that a broker returned; undefined for any other error, and for one that `KAFKA_ERRORS` doesn't list. */
export function kindOf({ type, code, message }: KafkaJsError): ErrorKind | undefined {
  // kafkajs reports the code of an unknown error only in its message.
  const number = /^Unknown error code (\d+)$/u.exec(message)?.[1];
  const named = newerError(number === undefined ? code : Number(number))?.type ?? type;
  return named === undefined ? undefined : errorKind(named);
}

export function verdictOf(error: unknown): Verdict {
  for (const each of chain(error)) {
    if (each instanceof MissingRightError) return 'right';
    const { name, code, retriable } = each;
    const verdict = VERDICTS[kindOf(each) ?? 'later'];
    if (verdict !== 'passes') return verdict;
    if (FINAL_FAULTS.has(name) || (OWN.has(name) && retriable === undefined)) return 'final';
    if (typeof code === 'string' && (code.startsWith('HEADGATE_') || code.startsWith('ERR_TLS') || code.startsWith('ERR_SSL')))
      return 'final';
  }
  return error instanceof Error ? 'passes' : 'final';
}

const VERDICTS: Readonly<Record<ErrorKind, Verdict>> = {
  refresh: 'passes',
  retry: 'passes',
  later: 'passes',
  recreate: 'passes',
  fenced: 'passes',
  right: 'right',
  record: 'final',
  final: 'final',
};

/**
 * Marks the built-in JavaScript errors in the chain of an error from kafkajs, and returns the error. kafkajs can throw a `TypeError` if it loses a
 * connection while using it, and a retry helps then. In a bundle, only the mark distinguishes such an error from a defect of Headgate.
 */
export function ofKafkajs<Thrown>(error: Thrown): Thrown {
  for (const each of chain(error)) if (OWN.has(each.name)) Object.assign(each, { retriable: true });
  return error;
}

export function throwOfKafkajs(error: unknown): never {
  throw ofKafkajs(error);
}

/** Texts for errors that the driver waits out, but that can last until someone intervenes. They say more than the texts of kafkajs. */
const LASTING: Readonly<Record<string, string>> = {
  CONCURRENT_TRANSACTIONS: "a broker hasn't ended a transaction yet; if this lasts, run check and see the broker logs",
};

/**
 * Returns the text of the innermost cause, because kafkajs nests errors several levels deep. If one of Headgate's own errors comes first, returns the
 * message of that error instead, which says more than its cause.
 */
export function failureText(error: unknown): string {
  let text = String(error);
  for (const { message, type, code } of chain(error)) {
    if (isOurs(code)) return message;
    text = type === undefined ? message : `${LASTING[type] ?? message} (${type})`;
  }
  return text.trim();
}

/**
 * Returns the error to throw if waiting doesn't help: for a refusal by brokers, a new one with a readable message; for Headgate's own error,
 * that error without what wraps it; otherwise `error` itself.
 */
export function driverError(error: unknown): unknown {
  for (const each of chain(error)) {
    if (isOurs(each.code)) return each;
    if (each.type !== undefined || FINAL_FAULTS.has(each.name)) {
      const message = `The brokers refused the request${aboutTopic(each.topic)}: ${refusalText(each)}`;
      return new TopicLogError({ code: 'HEADGATE_BROKERS_REFUSE', message }, { cause: error });
    }
  }
  return error;
}

/** Returns the message of a final error if it is a refusal by brokers or Headgate's own error; otherwise undefined. */
export function refusal(error: unknown): string | undefined {
  const final = verdictOf(error) === 'final' ? driverError(error) : undefined;
  return final instanceof Error && 'code' in final && isOurs(final.code) ? final.message : undefined;
}

/** Returns why a broker refused a request, and what to do. `answer`: the error of the response. */
export function refusalText(answer: KafkaJsError): string {
  const known = KAFKA_ERRORS[answer.type ?? ''];
  const { text = failureText(answer), cure } = typeof known === 'object' ? known : { cure: 'The broker logs may say more.' };
  return `${text.replace(/\.$/u, '')}. ${cure}`;
}

export function aboutTopic(topic: string | undefined): string {
  return topic === undefined ? '' : ` for topic "${topic}"`;
}

function isOurs(code: unknown): boolean {
  return typeof code === 'string' && code.startsWith('HEADGATE_');
}
