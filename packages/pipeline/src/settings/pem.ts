import * as z from 'zod';
import { plainFileText } from './file-text.ts';
import { isPem } from './scalar.ts';

/**
 * Returns a schema for a certificate or private key, as PEM text or as the path of a file with that text. The parsed value is the PEM text.
 */
export function pemText(label: 'CERTIFICATE' | 'PRIVATE KEY', example: string): z.ZodType<string, string> {
  const schema = z.string().transform((given, context) => {
    const refuse = (message: string): never => {
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    };
    if (!isPem(given) && /[\r\n]/.test(given)) return refuse(`is neither a path nor PEM text. Write a path, such as ${example}.`);
    const text = isPem(given) ? given : plainFileText(given);
    if (typeof text !== 'string') return refuse(text.flaw);
    return text.includes(`${label}-----`) ? text : refuse(`has no PEM text with BEGIN ${label}. Write a path, such as ${example}.`);
  });
  return schema.meta({ format: 'path', examples: [example] });
}
