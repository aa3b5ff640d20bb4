import { Complaint } from './complaint.ts';
import type { Secret } from './config.ts';
import type { Leaf } from './leaf.ts';
import type { ReadContext } from './read-context.ts';
import { single } from './schema-parts.ts';
import type { Schema } from './schema-parts.ts';

export interface SecretOptions {
  readonly context: ReadContext;
  /** The variable an example names. */
  readonly variable: string;
  /** Whether it may be empty; default false. */
  readonly empty?: boolean;
  /** Whether it is signed with, or percent-encoded before it is sent, so that it may have any letters; default false: it goes into a header as it is. */
  readonly encoded?: boolean;
}

/** A secret, hidden behind a function; in plain text it is warned about, and never repeated. */
export function secret({ context, variable, empty = false, encoded = false }: SecretOptions): Schema<Secret> {
  return single({
    example: `"\${${variable}}"`,
    read: (leaf) => {
      const value = leaf.text ?? '';
      if (value === '' && !empty) return new Complaint(`${source(leaf)} is empty. Give it a value.`);
      // Checked here: a header refuses such a value later, in an error that may repeat it.
      const flaw = encoded ? textFlaw(value) : headerFlaw(value);
      if (flaw !== undefined) return new Complaint(`${source(leaf)} ${flaw}. Copy it again.`);
      if (value.trim() !== value) return new Complaint(`${source(leaf)} starts or ends with a space. Copy it again, without.`);
      if (/^bearer\s/i.test(value))
        return new Complaint(`${source(leaf)} starts with the word Bearer, which is put there anyway. Keep what follows it.`);
      warnOfPlainText({ context, leaf, variable });
      return hide(value);
    },
  });
}

function headerFlaw(value: string): string | undefined {
  return /^[\x20-\x7e]*$/.test(value) ? undefined : 'has a line break or another character no header can carry';
}

function textFlaw(value: string): string | undefined {
  if (/\p{Cc}/u.test(value)) return 'has a line break or another control character';
  return value.isWellFormed() ? undefined : 'has half a surrogate pair, which has no UTF-8 form';
}

/** Puts a text behind a function, so that no object that might be printed holds it. */
export function hide(value: string): Secret {
  return () => value;
}

export interface WarnOfPlainTextOptions {
  readonly context: ReadContext;
  readonly leaf: Leaf;
  readonly variable: string;
}

export function warnOfPlainText({ context, leaf, variable }: WarnOfPlainTextOptions): void {
  if (leaf.variables.length > 0 || leaf.text === '') return;
  context.warn(leaf, `a secret in plain text. Put it into .env beside this file and write "\${${variable}}" here.`);
}

function source(leaf: Leaf): string {
  return leaf.variables.length === 0 ? 'the value' : `the value of ${leaf.variables.map((name) => `\${${name}}`).join(', ')}`;
}
