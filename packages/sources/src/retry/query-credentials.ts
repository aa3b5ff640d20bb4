import type { CredentialPool } from '@headgate/throttle';
import type { WholeDefinition } from '../source-definition.ts';
import { atOnce, ofDefinition, SourceError } from '../source-error.ts';
import type { SourceCredential } from './source-credential.ts';

/** Returns the names of the credentials that may send a query. Throws a `SourceError` if none of them is left, or one is unknown. */
export type QueryCredentials<Query> = (query: Query) => readonly string[];

/**
 * Returns undefined if the definition lets each credential send any query. `credentials`: by name, including ones that are no longer used.
 */
export function queryCredentials<Query>(
  definition: WholeDefinition<Query, unknown>,
  credentials: ReadonlyMap<string, SourceCredential>,
  pool: CredentialPool,
): QueryCredentials<Query> | undefined {
  const { service } = definition;
  if (definition.credentialsOf === undefined) return undefined;
  return (query) => {
    const subject = ofDefinition(service, undefined, 'subject', () => definition.subject(query));
    const call = (): readonly string[] => [...new Set(textList(atOnce(definition.credentialsOf?.(query) ?? [])))];
    const names = ofDefinition(service, subject, 'credentialsOf', call);
    const refuse = (what: string, cause?: SourceError): never => {
      const message = `${subject}: ${what}`;
      throw new SourceError({ code: 'HEADGATE_NO_CREDENTIAL', retryable: false, service, subject, message, cause });
    };
    if (names.length === 0) return refuse(`no credential may send this request: credentialsOf of the ${service} source returned none.`);
    const unknown = names.find((name) => !credentials.has(name));
    if (unknown !== undefined) {
      const known = [...credentials.keys()].join(', ');
      return refuse(
        `there is no credential ${JSON.stringify(unknown)} to send this request. The ${service} source has ${known}. Add it to its credentials, or fix credentialsOf.`,
      );
    }
    // If the source has no credential left at all, admission rejects with the error that ends the source.
    const left = new Set(pool.members.map(({ name }) => name));
    if (left.size > 0 && !names.some((name) => left.has(name))) {
      const cause = names.map((name) => credentials.get(name)?.retiredBy).find((error) => error !== undefined);
      return refuse(
        `no credential is left to send this request: ${names.join(', ')} can't be used any more. ${cause?.message ?? ''}`.trim(),
        cause,
      );
    }
    return names;
  };
}

function textList(names: readonly string[]): readonly string[] {
  // A definition can run without a type check.
  if (Array.isArray(names) && names.every((name) => typeof name === 'string')) return names;
  throw new TypeError('it must return a list of names of credentials');
}
