import { readFileSync, statSync } from 'node:fs';
import { inspect } from 'node:util';
import { z } from 'zod';
import { PipelineError } from './pipeline-error.ts';

/** A value that is read when it is needed and that nothing prints: not JSON, `util.inspect`, an error or a log line. */
export type Secret = () => string;

/** As options give it: the text, a function that reads it, or the file that holds it, which is read again when it has changed. */
export type SecretInput = string | (() => string) | { readonly file: string };

/** The schema of a secret in a pipeline's options. */
export function secret(): z.ZodType<Secret, SecretInput> {
  const input = z.union([
    z.string().min(1, 'must not be empty'),
    z.custom<() => string>((value) => typeof value === 'function', 'must be text, a function that gives it, or { file }'),
    z.strictObject({ file: z.string().min(1) }),
  ]);
  return input.transform(toSecret) as z.ZodType<Secret, SecretInput>;
}

function toSecret(given: SecretInput): Secret {
  if (typeof given === 'string') return hidden(() => given);
  return hidden(typeof given === 'function' ? given : fileReader(given.file));
}

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
        code: 'HEADGATE_SECRET_UNAVAILABLE',
        message: `The secret in ${file} can't be read: ${(cause as Error).message}`,
        retryable: true,
        cause,
      });
    }
    throw new PipelineError({
      code: 'HEADGATE_SECRET_UNAVAILABLE',
      message: `The secret's file ${file} is empty. Write the secret into it.`,
      retryable: true,
    });
  };
}

function hidden(read: () => string): Secret {
  const give: Secret = () => read();
  const shown = '[secret]';
  Object.defineProperties(give, {
    toString: { value: () => shown },
    toJSON: { value: () => shown },
    [inspect.custom]: { value: () => shown },
  });
  return give;
}
