import { type TopicRecord, textOf, textRecord } from '@headgate/topics';
import type { z } from 'zod';
import { optionWords } from '../settings/parse-options.ts';
import { PipelineError } from '../settings/pipeline-error.ts';
import { placeOf, textOf as wordsOf } from '../settings/thrown.ts';
import type { DeadLetterContent } from './dead-letter.ts';

/** A job as read from its topic, or from the state of a lane. */
export interface JobRecord extends Pick<TopicRecord, 'offset' | 'key' | 'value'> {
  /** Timestamp of the record, epoch ms. Absent for a job from the state of a lane. */
  readonly timestampMs?: number;
  /** Value of the header `headgate-resume`: `FROM_START`, or where a replayed job continues its walk. Absent without the header. */
  readonly resume?: string;
  /**
   * Value of the header `headgate-once`: offset of the root of the job's family. Absent without a valid header; the job is then a
   * root.
   */
  readonly root?: number;
  /** The error of a record whose value isn't text. Absent for other records. */
  readonly refusal?: unknown;
  /** The record's value if it isn't text. In that case, `value` is null, and `refusal` is set. */
  readonly bytes?: Uint8Array;
}

/** Name of a header that dead letters and jobs can have. Its value says where a failed walk continues, as JSON, or is `FROM_START`. */
export const RESUME = 'headgate-resume';

/** Value of `RESUME` for a job whose walk starts without what earlier walks of its key carried. Its children have the header, too. */
export const FROM_START = '"start"';

/** Name of the header of a job that was created with `once`. Its value is the offset of the family's root in the same partition. */
export const ONCE = 'headgate-once';

/**
 * Returns the offset of the root of a job's family. A job without `root` is a root. Its family is the root itself and each job
 * with `once` whose nearest ancestor without `once` is this root.
 */
export function rootOf({ root, offset }: Pick<JobRecord, 'root' | 'offset'>): number {
  return root ?? offset;
}

/** Returns the offset of the root in a record's headers, or undefined if there is no valid offset before the record. */
function rootBefore({ offset, headers }: TopicRecord<Uint8Array>): number | undefined {
  const text = headers[ONCE] && textOf(headers[ONCE]);
  const root = text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
  return root !== undefined && root < offset ? root : undefined;
}

/** Converts a record of a requests topic. A key that isn't text becomes null, and a value that isn't text becomes a `refusal`. */
export function jobRecord(record: TopicRecord<Uint8Array>): JobRecord {
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
export function parseJob<Request>(schema: z.ZodType<Request>, value: string | null): Request {
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
    // A message that starts with a capital letter is a whole sentence. Other messages continue a sentence about the path.
    if (/^\p{Lu}/u.test(words)) return [...(path.length === 0 ? [] : [path.join('.')]), words].join(': ');
    return `${path.length === 0 ? 'it' : path.join('.')} ${words}`;
  });
  throw malformed(`The job is malformed: ${problems.join('; ')}.`);
}

function malformed(message: string, cause?: unknown): PipelineError {
  return new PipelineError({ code: 'HEADGATE_MALFORMED_REQUEST', message, cause });
}

/**
 * Returns the content of a job's dead letter: the value as in the topic, not as the schema parsed it. A very long value is shortened.
 */
export function jobContent({ value, bytes }: JobRecord): DeadLetterContent {
  if (bytes === undefined) return { jobText: jobText(value) };
  return { jobBytes: bytes.length > LARGEST ? bytes.subarray(0, KEPT) : bytes };
}

/**
 * Maximum depth of a job that is stored as JSON. A deeper one is stored as a string, because `JSON.stringify` can fail for JSON that
 * `JSON.parse` has read.
 */
const DEEPEST = 50;
/** Maximum length of a job that is stored whole, in characters, or in bytes for a binary job. */
const LARGEST = 32 * 1024 * 1024;
/** How much is stored of a longer job, in characters or bytes. */
const KEPT = 500;

/**
 * Returns a job as JSON for its dead letter. JSON text stays unchanged, so that no number changes its spelling. Other text becomes a
 * JSON string, and so does JSON that is too deep or too long.
 */
export function jobText(value: string | null): string {
  if (value === null) return 'null';
  // A compressed record can be far larger than the topic's limit. Written as a JSON string, it could exceed the maximum length of a string.
  if (value.length > LARGEST) return JSON.stringify(`${value.slice(0, KEPT)}…`);
  try {
    JSON.parse(value);
    if (depthOf(value) <= DEEPEST) return value;
  } catch {
    // The text isn't JSON, so it becomes a string.
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
