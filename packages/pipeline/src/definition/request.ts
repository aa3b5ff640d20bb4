import { type TopicRecord, textOf, textRecord } from '@headgate/topics';
import type { z } from 'zod';
import { optionWords } from './parse-options.ts';
import { PipelineError } from './pipeline-error.ts';
import { placeOf, textOf as wordsOf } from './thrown.ts';
import type { DeadLetterContent } from '../dead-letters/dead-letter.ts';

/** A request as read from its topic, or from the state of a lane. */
export interface RequestRecord extends Pick<TopicRecord, 'offset' | 'key' | 'value'> {
  /** Time at which the log appended the record, epoch ms. Absent if the topic no longer has the record. */
  readonly timestampMs?: number;
  /** Value of the header `headgate-resume`: the position at which the replay of a dead letter continues its walk. */
  readonly resume?: string;
  /**
   * Value of the header `headgate-once`: offset of the root of the request's family, if the family makes the request once. Absent for a
   * root.
   */
  readonly root?: number;
  /** Why the record can't be a request, found before parsing. Absent if it can. */
  readonly refusal?: unknown;
  /** The record's value if it isn't text. In that case, `value` is null, and `refusal` is set. */
  readonly bytes?: Uint8Array;
}

/** Name of a header of dead letters, and of the requests that a replay enqueues: the position at which the walk continues. */
export const RESUME = 'headgate-resume';

/** Name of a header of the requests that a family makes once: offset of the family's root in their partition. */
export const ONCE = 'headgate-once';

/**
 * Returns the offset of the root of a request's family: the request that the family's other members come from. Without `root`, the request
 * is the root.
 */
export function rootOf({ root, offset }: Pick<RequestRecord, 'root' | 'offset'>): number {
  return root ?? offset;
}

/** Returns the root in a record's headers. Undefined if there is none, or if it isn't before the record and so is invalid. */
function rootBefore({ offset, headers }: TopicRecord<Uint8Array>): number | undefined {
  const text = headers[ONCE] && textOf(headers[ONCE]);
  const root = text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
  return root !== undefined && root < offset ? root : undefined;
}

/** Converts a record of a requests topic. Keys and headers may be binary; a binary value becomes a `refusal`. */
export function requestRecord(record: TopicRecord<Uint8Array>): RequestRecord {
  const { offset, key, value, headers, timestampMs } = record;
  const resume = headers[RESUME] && textOf(headers[RESUME]);
  const root = rootBefore(record);
  const kept = {
    offset,
    timestampMs,
    key: key === null ? null : (textOf(key) ?? null),
    ...(resume !== undefined && { resume }),
    ...(root !== undefined && { root }),
  };
  try {
    return { ...kept, value: textRecord({ ...record, key: null, headers: {} }).value };
  } catch (refusal) {
    return { ...kept, value: null, refusal, ...(value !== null && { bytes: value }) };
  }
}

/**
 * Parses a record's value. Throws a `PipelineError`: HEADGATE_MALFORMED_REQUEST with the problems, or HEADGATE_USER_FUNCTION if the schema
 * throws.
 */
export function parseRequest<Request>(schema: z.ZodType<Request>, value: string | null): Request {
  if (value === null) throw malformed('The job has no value. It must be a JSON object.');
  let json: unknown;
  try {
    json = JSON.parse(value);
  } catch (cause) {
    throw malformed(`The job isn't JSON: ${(cause as Error).message}`, cause);
  }
  let parsed: z.ZodSafeParseResult<Request>;
  try {
    parsed = schema.safeParse(json, { error: optionWords });
  } catch (cause) {
    const message = `The schema of jobs threw ${wordsOf(cause)}${placeOf(cause)}. Fix it: refinements and transforms must return synchronously.`;
    throw new PipelineError({ code: 'HEADGATE_USER_FUNCTION', message, cause });
  }
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => {
    const words = message.replace(/\.$/, '');
    // The schema's own messages can be whole sentences. Other messages continue a sentence about the path.
    if (/^\p{Lu}/u.test(words)) return [...(path.length === 0 ? [] : [path.join('.')]), words].join(': ');
    return `${path.length === 0 ? 'it' : path.join('.')} ${words}`;
  });
  throw malformed(`The job is malformed: ${problems.join('; ')}.`);
}

function malformed(message: string, cause?: unknown): PipelineError {
  return new PipelineError({ code: 'HEADGATE_MALFORMED_REQUEST', message, cause });
}

/** The part of a request's record that a dead letter stores: the value as the topic had it, not as the schema parsed it. */
export function requestContent({ value, bytes }: RequestRecord): DeadLetterContent {
  if (bytes === undefined) return { requestText: requestText(value) };
  return { requestBytes: bytes.length > LARGEST ? bytes.subarray(0, KEPT) : bytes };
}

/** Maximum depth of a request that is copied as JSON. `JSON.parse` reads far deeper JSON than `JSON.stringify` can write. */
const DEEPEST = 50;
/** Maximum length of a request that is stored whole: characters, or bytes if it is binary. */
const LARGEST = 32 * 1024 * 1024;
/** Number of characters, or bytes, that are stored of a longer request. */
const KEPT = 500;

/**
 * The request in the form in which a dead letter stores it, as JSON. JSON text is stored as is, so that no number changes its spelling. Any
 * other text is stored as a JSON string.
 */
export function requestText(value: string | null): string {
  if (value === null) return 'null';
  // A compressed record can be far larger than the topic's limit. Written as a JSON string, it could exceed the maximum length of a string.
  if (value.length > LARGEST) return JSON.stringify(`${value.slice(0, KEPT)}…`);
  try {
    JSON.parse(value);
    if (depthOf(value) <= DEEPEST) return value;
  } catch {
    // The text isn't JSON.
  }
  return JSON.stringify(value);
}

function depthOf(json: string): number {
  let depth = 0;
  let deepest = 0;
  for (const [mark] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[{]|[\]}]/g)) {
    if (mark === '[' || mark === '{') deepest = Math.max(deepest, (depth += 1));
    else if (mark === ']' || mark === '}') depth -= 1;
  }
  return deepest;
}
