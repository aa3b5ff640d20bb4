import * as z from 'zod';

/** One error in a response, as far as it is readable. */
export interface SpokenError {
  readonly code?: number | undefined;
  /** The error's text: `message`, `detail`, `title` or the bare text. */
  readonly text?: string | undefined;
  /** The last part of the `type`, and the `reason`. */
  readonly problems: readonly string[];
  /** `text`: only a text, as in `{ error: 'Not authorized.' }`. `whole`: the whole body, which need not be an error. */
  readonly form: 'text' | 'object' | 'whole';
}

const text = z.string().optional().catch(undefined);
const wireError = z.looseObject({
  code: z.coerce.number().optional().catch(undefined),
  message: text,
  detail: text,
  title: text,
  type: text,
  reason: text,
});

/**
 * Returns the errors in parsed JSON, in each form that the service has had: a list `errors`, an `error` that is a text or an object, and an
 * object with a `title` and a `type` (RFC 9457). Empty if it has none of them.
 */
export function spokenErrors(value: unknown): readonly SpokenError[] {
  const { errors = [], error = [] } = listed.safeParse(value).data ?? {};
  return [...errors, ...error, value].flatMap((one): readonly SpokenError[] => {
    const form = one === value ? 'whole' : typeof one === 'string' ? 'text' : 'object';
    if (typeof one === 'string') return [{ text: one, problems: [], form }];
    const { code, message, detail, title, type, reason } = wireError.safeParse(one).data ?? {};
    const said = message ?? detail ?? title;
    if (code === undefined && said === undefined && type === undefined) return [];
    const problems = [type?.split(/[/#]/).at(-1), reason].filter((part) => part !== undefined);
    return [{ code, text: said, problems, form }];
  });
}

const someOf = z.union([z.array(z.unknown()), z.unknown().transform((one) => (one === undefined ? [] : [one]))]).optional();
const listed = z.looseObject({ errors: someOf, error: someOf });
