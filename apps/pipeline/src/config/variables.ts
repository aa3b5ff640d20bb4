export interface Substitution {
  readonly text: string;
  /** The names of the variables in the text, in order, set or not. */
  readonly names: readonly string[];
  readonly unset: readonly string[];
  /** Whether an unescaped `${` isn't followed by a name and `}`. */
  readonly malformed: boolean;
}

/** Replaces `${NAME}` with environment variables; `$${` is a literal `${`. The value of a variable isn't searched again. */
export function substituteVariables(text: string, lookup: (name: string) => string | undefined): Substitution {
  const names: string[] = [];
  const unset: string[] = [];
  let malformed = false;
  const result = text.replaceAll(/\$\$\{|\$\{([A-Za-z_]\w*)\}|\$\{/g, (match, name: string | undefined) => {
    if (match === '$${') return '${';
    if (name === undefined) {
      malformed = true;
      return match;
    }
    names.push(name);
    const value = lookup(name);
    if (value === undefined) unset.push(name);
    return value ?? '';
  });
  return { text: result, names, unset, malformed };
}

/** A variable's name as `${NAME}` for a message. A text that doesn't look like a name might be a secret, so it isn't shown. */
export function shownVariable(name: string): string {
  const isPlain = name.length <= 40 && (name === name.toUpperCase() || name === name.toLowerCase()) && !/\d.*\d.*\d.*\d/.test(name);
  return isPlain ? `\${${name}}` : "a variable (its name isn't shown)";
}
