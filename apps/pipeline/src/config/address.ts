import * as z from 'zod';

/** Schema for a service's address. Removes trailing slashes. */
export function address(example: string): z.ZodType<string, string> {
  const schema = z.string().transform((text, context) => {
    const flaw = addressFlaw(text, example);
    if (flaw !== undefined) context.addIssue({ code: 'custom', message: flaw });
    return text.trim().replace(/\/+$/, '');
  });
  return schema.meta({ format: 'uri', examples: [example] });
}

/** Describes what is wrong with a service's address, or returns undefined. Doesn't repeat the address, because it can contain a secret. */
export function addressFlaw(text: string, example: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:') || !/^https?:\/\//i.test(text)) {
    return `isn't an address. Write, for example, ${example}.`;
  }
  if (url.username !== '' || url.password !== '') {
    return 'contains a user name or password. Remove it, and use the settings for credentials.';
  }
  return /[?#]/.test(text) ? `contains a "?" or "#". Write only the address, such as ${example}.` : undefined;
}
