import { SourceError, type SourceErrorCode, type Verdict, refusalWaitMs, retryAfterMs } from '@headgate/sources';
import { againFrom, restartTime } from './cursor.ts';
import { waitAt } from './limits.ts';
import { type Path, path, readPath } from './path.ts';
import { duration } from '@headgate/pipeline';
import * as z from 'zod';
import { scalar, scalarOf } from './json-value.ts';
import type { Stream } from './streams.ts';
import { type Answered, type RestPage, emptyPage, noRecords } from './listed-page.ts';
import type { Time } from './time.ts';

const statuses = z.union([z.int().min(100).max(599), z.array(z.int().min(100).max(599)).min(1)]);

/** A condition of an error rule. */
export interface Condition {
  /** Path in the response body; it can select several values. */
  readonly path: Path;
  /** At least one of the selected values must be one of these. Default: any value matches. */
  readonly oneOf?: readonly (string | number | boolean | null)[];
}

const conditions = z
  .union([z.string(), z.record(z.string(), z.union([scalar, z.array(scalar).min(1)]))])
  .transform((given, context): readonly Condition[] | 'no body' => {
    if (given === 'no body') return given;
    if (typeof given === 'string') return [{ path: readPath(given, context) }];
    return Object.entries(given).map(([text, values]) => {
      const read = path().safeParse(text);
      for (const { message } of read.error?.issues ?? []) context.addIssue({ code: 'custom', path: [text], message });
      return read.success ? { path: read.data, oneOf: Array.isArray(values) ? values : [values] } : z.NEVER;
    });
  });

export const errorRule = z
  .strictObject({
    status: statuses.exactOptional().describe('Status of the response, or a list of statuses. Default: any.'),
    when: conditions
      .exactOptional()
      .describe('A path that selects something in the body, paths with the values that they must have, or `no body`.'),
    then: z
      .enum(['retry', 'wait', 'missing', 'empty', 'refused', 'dead', 'restart'])
      .describe(
        '`retry`: send the request again. `wait`: wait for the limit. `missing` and `dead`: write a dead letter. `empty`: accept it without records. `refused`: stop using the credential. `restart`: start the crawl again.',
      ),
    code: z
      .string()
      .transform((text, context): Path | string => (text.startsWith('$') ? readPath(text, context, { singular: true }) : text))
      .exactOptional()
      .describe('Error code of the dead letter: text, or a path in the body.'),
    wait: z
      .union([
        z
          .string()
          .startsWith('$')
          .transform((text, context) => readPath(text, context, { singular: true })),
        duration(),
      ])
      .exactOptional()
      .describe('Time to wait if the headers name none, or path in the body of the wait or of the time at which it ends.'),
  })
  .refine(({ status, when }) => status !== undefined || when !== undefined, 'needs status, when, or both.');

type ErrorRule = z.output<typeof errorRule>;

/** The first of the stream's rules that fits a response. */
export function ruleFor({ errors = [] }: Stream, { value, answer }: Answered, isBodyless: boolean): ErrorRule | undefined {
  const isEmpty = (): boolean => isBodyless || !/\S/.test(answer.body.toString('latin1'));
  return errors.find((one) => fits(one, answer.status, value, isEmpty));
}

function fits({ status, when }: ErrorRule, answered: number, value: unknown, isEmpty: () => boolean): boolean {
  if (status !== undefined && !(Array.isArray(status) ? status.includes(answered) : status === answered)) return false;
  if (when === undefined) return true;
  if (when === 'no body') return isEmpty();
  if (value === undefined) return false;
  return when.every(({ path, oneOf }) => {
    const found = path.all(value);
    return oneOf === undefined ? found.length > 0 : found.some((one) => oneOf.some((value) => isSame(one, value)));
  });
}

/** Compares a value of a response with one of the section. Numbers are compared as text, because a variable of the section is text. */
function isSame(found: unknown, value: string | number | boolean | null): boolean {
  const scalar = found === null ? null : scalarOf(found);
  if (typeof scalar === 'number' || typeof value === 'number') return String(scalar) === String(value);
  return scalar === value;
}

export function ruledVerdict(rule: ErrorRule, stream: Stream, answered: Answered): Verdict<RestPage> {
  const { value, answer, context } = answered;
  const { status, headers } = answer;
  const { service, subject, credential, epochMs, recentlyRefused, query } = context;
  const code = codeOf(rule, value);
  const said = `${status}${code === undefined ? '' : `, ${code}`}`;
  const error = (fallback: SourceErrorCode, message: string): SourceError =>
    new SourceError({ code: ownCode(code) ?? fallback, message, retryable: false, service, subject, credential, status });
  const { wait } = rule;
  const [fixedMs, bodyMs] = typeof wait === 'object' ? [undefined, waitAt(wait.first(value), answer, epochMs)] : [wait, undefined];
  switch (rule.then) {
    case 'retry':
      return {
        kind: 'transient',
        reason: `the service answered ${said}`,
        retryInMs: bodyMs ?? retryAfterMs({ headers, epochMs }) ?? fixedMs,
      };
    case 'wait':
      return {
        kind: 'rate-limited',
        reason: `the rate limit is reached (${said})`,
        retryInMs: bodyMs ?? refusalWaitMs({ answer, epochMs, recentlyRefused }) ?? fixedMs,
      };
    case 'missing':
      return {
        kind: 'not-found',
        error: error('HEADGATE_NOT_FOUND', `${subject}: ${service} doesn't have it (${said}). Check the request.`),
      };
    case 'empty':
      return { kind: 'ok', value: emptyPage(stream, answered) };
    case 'refused':
      return {
        kind: 'unauthorized',
        error: error('HEADGATE_UNAUTHORIZED', `${credential}: ${service} refuses the credential (${said}). Check its secret.`),
      };
    case 'dead':
      return {
        kind: 'fatal',
        error: error('HEADGATE_BAD_REQUEST', `${subject}: ${service} refuses the request (${said}), and a retry won't change that.`),
      };
    case 'restart': {
      const { cursor } = query;
      const next = againFrom(stream, cursor);
      const ended = `${subject}: ${service} ended the listing`;
      if (next === undefined) {
        const message = `${ended} again (${said}). ${stuckAt(restartTime(stream, cursor))}`;
        return { kind: 'fatal', error: error('HEADGATE_CURSOR_LOOP', message) };
      }
      const notice = `${ended} (${said}). The listing restarts.`;
      return { kind: 'ok', value: { ...noRecords(answered, 0), next, notice } };
    }
  }
}

/** Why a listing doesn't restart again, and what to do. `from`: the time at which it restarted, if it is ordered by time. */
function stuckAt(from: Time | undefined): string {
  if (from === undefined) return 'It has restarted three times. Start the listing again later.';
  const cure = 'write larger pages (size) or a more precise {since}, or split the listing (for)';
  return `Three restarts at ${from} returned no newer record. If one listing can't return all records of that time, ${cure}. Otherwise start the listing again later.`;
}

/** The error code that a rule sets: its text, or the first 60 characters of the value at its path. */
function codeOf({ code }: ErrorRule, value: unknown): string | undefined {
  if (code === undefined || typeof code === 'string') return code;
  const found = value === undefined ? undefined : scalarOf(code.first(value));
  return found === undefined ? undefined : String(found).slice(0, 60);
}

/** The code in the form of Headgate's own codes: `not found` becomes `HEADGATE_NOT_FOUND`. Undefined if there is none. */
function ownCode(code: string | undefined): `HEADGATE_${string}` | undefined {
  const words = code?.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_');
  return words === undefined || words === ''
    ? undefined
    : words.startsWith('HEADGATE_')
      ? (words as `HEADGATE_${string}`)
      : `HEADGATE_${words}`;
}
