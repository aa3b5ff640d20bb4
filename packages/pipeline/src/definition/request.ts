import { type TopicRecord, textOf, textRecord } from '@headgate/topics';
import type { z } from 'zod';
import { optionWords } from './parse-options.ts';
import { PipelineError } from './pipeline-error.ts';
import { placeOf, textOf as wordsOf } from './thrown.ts';
import type { DeadLetterContent } from '../dead-letters/dead-letter.ts';

/** A request in its topic, or as stored in the state of a lane. */
export interface RequestRecord extends Pick<TopicRecord, 'offset' | 'key' | 'value'> {
  /** Time at which the log appended the record, epoch ms; absent if the topic no longer has the record. */
  readonly timestampMs?: number;
  /** The header `headgate-resume`: where a walk continues, from the replayed dead letter. */
  readonly resume?: string;
  /** The header `headgate-once`: offset of the root of its family, which requests it once. Absent for a root. */
  readonly root?: number;
  /** The error if the record can't be accepted, known before parsing. `value` is then the content for its dead letter. */
  readonly refusal?: unknown;
  /** The record's value if it isn't text: `value` is then null, and `refusal` says why. */
  readonly bytes?: Uint8Array;
}

/** The header of dead letters, and of the requests that their replay enqueues, that says where the walk continues. */
export const RESUME = 'headgate-resume';

/** The header of requests that a family makes once: offset of the family's root in their partition. */
export const ONCE = 'headgate-once';

/** Offset of the root of a request's family: the request's own offset if it is the root. */
export function rootOf({ root, offset }: Pick<RequestRecord, 'root' | 'offset'>): number {
  return root ?? offset;
}

/** Undefined for a root, and for an invalid header: a root comes before its family. */
function rootBefore({ offset, headers }: TopicRecord<Uint8Array>): number | undefined {
  const text = headers[ONCE] && textOf(headers[ONCE]);
  const root = text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
  return root !== undefined && root < offset ? root : undefined;
}

/** A record of a requests topic as a request. Binary keys and headers are accepted. */
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

/** Parses a request from a record's value. Throws a `PipelineError` (HEADGATE_MALFORMED_REQUEST) that says what is wrong with it. */
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
    // A user's schema may use whole sentences.
    if (/^\p{Lu}/u.test(words)) return [...(path.length === 0 ? [] : [path.join('.')]), words].join(': ');
    return `${path.length === 0 ? 'it' : path.join('.')} ${words}`;
  });
  throw malformed(`The job is malformed: ${problems.join('; ')}.`);
}

function malformed(message: string, cause?: unknown): PipelineError {
  return new PipelineError({ code: 'HEADGATE_MALFORMED_REQUEST', message, cause });
}

/** The content of a record of a requests topic that a dead letter stores: its original value, whatever its schema returns for it. */
export function requestContent({ value, bytes }: RequestRecord): DeadLetterContent {
  if (bytes === undefined) return { requestText: requestText(value) };
  return { requestBytes: bytes.length > LARGEST ? bytes.subarray(0, KEPT) : bytes };
}

/** Deeper than any request; JSON that is much deeper can be read, but not written again. */
const DEEPEST = 50;
/** Maximum characters, or bytes, of a request that is stored completely, and length of the stored start of a larger one. */
const LARGEST = 32 * 1024 * 1024;
const KEPT = 500;

/**
 * The form in which a dead letter stores a malformed request, as JSON text: its own text if that is JSON, so that every number keeps its
 * spelling; otherwise that text as a string.
 */
export function requestText(value: string | null): string {
  if (value === null) return 'null';
  // A compressed record may be far larger than any topic accepts, and may exceed a string's limit when written as JSON.
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
