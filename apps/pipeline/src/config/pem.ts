import { Complaint } from './complaint.ts';
import type { Secret } from './config.ts';
import { fileText } from './file-text.ts';
import type { Leaf } from './leaf.ts';
import type { ReadContext } from './read-context.ts';
import { single } from './schema-parts.ts';
import type { Schema } from './schema-parts.ts';
import { hide, warnOfPlainText } from './secrets.ts';

export interface PemOptions {
  readonly context: ReadContext;
  /** Completes `is missing. Write …`. */
  readonly example: string;
}

/** A certificate: a path, or the PEM text itself. */
export function certificate({ context, example }: PemOptions): Schema<string> {
  return single({ example, read: (leaf) => readPem({ context, leaf, example, word: 'CERTIFICATE' }) });
}

/** A private key: a path, or the PEM text itself, which belongs into a variable. */
export function privateKey({ context, example }: PemOptions): Schema<Secret> {
  return single({
    example,
    read: async (leaf) => {
      const pem = await readPem({ context, leaf, example, word: 'PRIVATE KEY' });
      if (isPem(leaf.text)) warnOfPlainText({ context, leaf, variable: 'KAFKA_KEY' });
      return pem instanceof Complaint ? pem : hide(pem);
    },
  });
}

async function readPem({
  context,
  leaf,
  example,
  word,
}: PemOptions & { readonly leaf: Leaf; readonly word: string }): Promise<string | Complaint> {
  const given = leaf.text ?? '';
  // A text that stands here in place of a path may be a key: it is not repeated as a path.
  if (/[\r\n]/.test(given) && !isPem(given)) return new Complaint(`is neither a path nor PEM text. Write a path, as in ${example}.`);
  const written = word === 'PRIVATE KEY' ? undefined : leaf.written;
  const pem = isPem(given) ? given : await fileText({ context, path: given, ...(written !== undefined && { written }) });
  if (pem instanceof Complaint || pem.includes(`${word}-----`)) return pem;
  return new Complaint(`holds no PEM text with BEGIN ${word}. Write a path, as in ${example}.`);
}

function isPem(text: string | undefined): boolean {
  return text?.trimStart().startsWith('-----BEGIN ') ?? false;
}
