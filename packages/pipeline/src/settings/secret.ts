import { readFileSync, statSync } from 'node:fs';
import { inspect } from 'node:util';
import * as z from 'zod';
import type { OptionIssue } from './parse-options.ts';
import { PipelineError } from './pipeline-error.ts';

/** Returns a secret, read at the time of the call. `JSON.stringify` and `util.inspect` of the function don't show the secret. */
export type SecretReader = () => string;

/** A secret in options: the text, a function that returns it, or the file that contains it. A changed file is read again. */
export type SecretInput = string | (() => string) | { readonly file: string };

/** Options of {@link secret}. */
export interface SecretOptions {
  /** Whether the secret can be empty. Default: false. */
  readonly empty?: boolean;
  /**
   * Whether the secret can have characters that no header can carry. Set it for a secret that only signs, or is percent-encoded before it
   * is sent. Default: false.
   */
  readonly encoded?: boolean;
}

/**
 * Returns a schema for a secret in a pipeline's options. By default, it refuses text that no header can carry, because an error about such
 * a header can quote the secret.
 */
export function secret({ empty = false, encoded = false }: SecretOptions = {}): z.ZodType<SecretReader, SecretInput> {
  const flawIn = (value: string): string | undefined => (value === '' && !empty ? 'is empty. Give it a value.' : flawOf(value, encoded));
  const text = z.string().superRefine((value, context) => {
    const flaw = flawIn(value);
    if (flaw !== undefined) context.addIssue({ code: 'custom', message: flaw });
  });
  const input = z.union([
    text,
    z.custom<() => string>((value) => typeof value === 'function', 'must be text, a function that returns it, or { file }.'),
    z.strictObject({ file: z.string().min(1).meta({ format: 'path' }) }),
  ]);
  return input.transform((given) => toSecret(given, flawIn)).meta({ writeOnly: true });
}

/** Returns the value of a secret, or undefined if reading it fails. */
export function readNow(given: SecretReader): string | undefined {
  try {
    return given();
  } catch {
    return undefined;
  }
}

/** Returns a schema for a proxy's address. `false` means no proxy. The address is a secret, because it can contain a password. */
export function proxyAddress(): z.ZodType<SecretReader, SecretInput | false> {
  const schema = z.union([z.literal(false), secret()]).transform((given, context): SecretReader => {
    if (given === false) return () => '';
    const message = "isn't a proxy address. Write, for example, http://proxy.example.com:3128, or false for none.";
    if (!/^https?:/.test(URL.parse(readNow(given) ?? 'http://later')?.protocol ?? '')) context.addIssue({ code: 'custom', message });
    return given;
  });
  return schema.meta({ writeOnly: true, examples: ['http://proxy.example.com:3128'] });
}

/** Reads every secret in parsed options, and reports those that are missing or invalid. No message contains a secret. */
export function secretIssues(options: unknown, path: OptionIssue['path'] = []): OptionIssue[] {
  if (typeof options === 'function') {
    const message = (options as Partial<Hidden>)[FLAW]?.();
    return message === undefined ? [] : [{ path, message }];
  }
  if (Array.isArray(options)) return options.flatMap((one, i) => secretIssues(one, [...path, i]));
  if (typeof options !== 'object' || options === null || Object.getPrototypeOf(options) !== Object.prototype) return [];
  return Object.entries(options).flatMap(([key, one]) => secretIssues(one, [...path, key]));
}

/**
 * Key of a function on every secret that describes what is wrong with its current value. The symbol is global, because a user's folder can
 * have its own installation of this package.
 */
const FLAW: unique symbol = Symbol.for('headgate.secret.flaw');
type Hidden = SecretReader & { readonly [FLAW]: () => string | undefined };

function flawOf(value: string, encoded: boolean): string | undefined {
  if (encoded) {
    if (/\p{Cc}/u.test(value)) return 'has a line break or another control character. Copy it again.';
    if (!value.isWellFormed()) return 'has half a surrogate pair, which has no UTF-8 form. Copy it again.';
  } else if (!/^[\x20-\x7e]*$/.test(value)) return 'has a line break or another character that no header can carry. Copy it again.';
  if (value.trim() !== value) return 'starts or ends with a space. Remove it.';
  if (/^bearer\s/i.test(value)) return 'starts with the word Bearer, which Headgate adds itself. Remove it.';
  return undefined;
}

function toSecret(given: SecretInput, flawIn: (value: string) => string | undefined): SecretReader {
  if (typeof given === 'string') return hidden(() => given, flawIn);
  return hidden(typeof given === 'function' ? given : fileReader(given.file), flawIn);
}

function flawNow(read: () => string, flawIn: (value: string) => string | undefined): string | undefined {
  try {
    const value: unknown = read();
    return typeof value === 'string' ? flawIn(value) : "isn't text: its function returns something else.";
  } catch (error) {
    // Don't quote an error of the user's function, because it can contain the secret.
    return error instanceof PipelineError ? error.message : "can't be read: its function threw.";
  }
}

/**
 * Returns a reader that checks at each call whether the file has changed, so that the next request uses a rotated secret. Requests are few,
 * so this costs little.
 */
function fileReader(file: string): () => string {
  let read: { readonly stamp: string; readonly text: string } | undefined;
  return () => {
    try {
      const { mtimeMs, size, ino } = statSync(file);
      const stamp = `${mtimeMs} ${size} ${ino}`;
      if (read?.stamp !== stamp) read = { stamp, text: readFileSync(file, 'utf8').trim() };
      if (read.text !== '') return read.text;
    } catch (cause) {
      throw new PipelineError({
        code: 'HEADGATE_SECRET_AWAITED',
        message: `The secret in ${file} can't be read: ${(cause as Error).message}`,
        retryable: true,
        cause,
      });
    }
    throw new PipelineError({
      code: 'HEADGATE_SECRET_AWAITED',
      message: `The secret's file ${file} is empty. Write the secret into it.`,
      retryable: true,
    });
  };
}

function hidden(read: () => string, flawIn: (value: string) => string | undefined): SecretReader {
  const give: SecretReader = () => read();
  const shown = '[secret]';
  Object.defineProperties(give, {
    toString: { value: () => shown },
    toJSON: { value: () => shown },
    [inspect.custom]: { value: () => shown },
    [FLAW]: { value: () => flawNow(read, flawIn) },
  });
  return give;
}
