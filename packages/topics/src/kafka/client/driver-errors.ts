import { TopicLogError } from '../../topic-log-error.ts';
import { MissingRightError } from '../../missing-right-error.ts';
import { type ErrorKind, KAFKA_ERRORS, errorKind, newerError } from './kafka-errors.ts';

/** The kind of an error: it may pass, a right must be granted first, or a retry doesn't help. */
export type Verdict = 'passes' | 'right' | 'final';

/** Properties of kafkajs's errors. Errors of retries have the last one as their cause. */
interface KafkaJsError extends Error {
  /** The error's name in Kafka's protocol, if a broker returned it. */
  readonly type?: string;
  readonly code?: number | string;
  /** The topic that a response is about, if any. */
  readonly topic?: string;
  /** `host:port`, of a connection. */
  readonly broker?: unknown;
  readonly cause?: unknown;
  /** Only errors of kafkajs have it. */
  readonly retriable?: boolean;
}

/**
 * kafkajs's own errors that a new connection doesn't fix. kafkajs gives up at others, too, but those concern one client object, and each
 * one is replaced after an error.
 */
const FINAL_FAULTS: ReadonlySet<string> = new Set([
  'KafkaJSSASLAuthenticationError',
  'KafkaJSNotImplemented',
  'KafkaJSServerDoesNotSupportApiKey',
]);

/** The language's errors are defects of ours, unless kafkajs threw them. */
const OWN = new Set(['TypeError', 'RangeError', 'ReferenceError', 'SyntaxError']);

/** An error, its causes, and the errors of a request about several topics. */
export function* chain(error: unknown): Iterable<KafkaJsError> {
  for (let at = error; at instanceof Error; at = at.cause) {
    yield at;
    if ('errors' in at && Array.isArray(at.errors)) for (const each of at.errors) yield* chain(each);
  }
}

/** The kind of an error that a broker returned; undefined for any other error, and for one that neither kafkajs nor Headgate knows. */
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
 * Marks an error that kafkajs threw, and returns it. kafkajs throws a TypeError if a connection is dropped under it, and that one passes.
 * In a bundle, nothing else tells it from our own.
 */
export function ofKafkajs<Thrown>(error: Thrown): Thrown {
  for (const each of chain(error)) if (OWN.has(each.name)) Object.assign(each, { retriable: true });
  return error;
}

/** The innermost cause in one readable line, because kafkajs nests it three levels deep. Our own errors say more than their causes. */
export function failureText(error: unknown): string {
  let text = String(error);
  for (const { message, type, code } of chain(error)) {
    if (isOurs(code)) return message;
    text = type === undefined ? message : `${message} (${type})`;
  }
  return text.trim();
}

/**
 * The error that the driver throws if waiting doesn't help: one with a readable message, or one of ours or the language, unchanged.
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

/** Why the brokers refuse for good, and what to do; undefined if they don't. */
export function refusal(error: unknown): string | undefined {
  const final = verdictOf(error) === 'final' ? driverError(error) : undefined;
  return final instanceof Error && 'code' in final && isOurs(final.code) ? final.message : undefined;
}

/** The same for one response. */
export function refusalText(answer: KafkaJsError): string {
  const known = KAFKA_ERRORS[answer.type ?? ''];
  const { text = failureText(answer), cure } = typeof known === 'object' ? known : { cure: 'The broker logs may say more.' };
  return `${text.replace(/\.$/u, '')}. ${cure}`;
}

/** Names the topic that a request was about, if it is known. */
export function aboutTopic(topic: string | undefined): string {
  return topic === undefined ? '' : ` for topic "${topic}"`;
}

function isOurs(code: unknown): boolean {
  return typeof code === 'string' && code.startsWith('HEADGATE_');
}
