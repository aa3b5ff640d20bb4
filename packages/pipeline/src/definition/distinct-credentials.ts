import type * as z from 'zod';
import type { NamedCredential } from './pipeline-definition.ts';
import { type SecretReader, readNow } from '../settings/secret.ts';

/** Settings by which a service tells a credential from others. */
export interface CredentialIdentity {
  /** The credential's setting that contains the secret. Absent for a credential without a secret. */
  readonly setting?: string;
  /** Readers of the values that tell this credential from others with the same setting. Undefined for a value that isn't set. */
  readonly values: readonly (SecretReader | undefined)[];
}

/**
 * Returns a refinement for a list of credentials: each needs its own name, under which its budgets are kept, and its own secret. Credentials
 * with one secret share one budget at the service. If each had its own budget, a run would exceed the limit.
 */
export function distinctCredentials<Credential extends NamedCredential>(
  identityOf: (credential: Credential) => CredentialIdentity,
): (all: readonly Credential[], context: z.RefinementCtx) => void {
  return (all, context) => {
    const names = all.map(({ name }) => name);
    const identities = all.map(identityOf);
    const secrets = identities.map(comparable);
    for (const [i, { setting }] of identities.entries()) {
      const name = names.indexOf(names[i] ?? '');
      const same = secrets[i] === undefined ? i : secrets.indexOf(secrets[i]);
      if (name !== i) {
        const message = `is also the name of credentials[${name}]. Give each its own name.`;
        context.addIssue({ code: 'custom', path: [i, 'name'], message });
      }
      if (same !== i) {
        const which = setting === undefined ? `has no secret, like credentials[${same}]` : `is also the secret of credentials[${same}]`;
        const message = `${which}. The service counts both against one budget. Keep one of them.`;
        context.addIssue({ code: 'custom', path: setting === undefined ? [i] : [i, setting], message });
      }
    }
  };
}

/** Returns equal texts for equal identities. Undefined if a secret can't be read yet, or is invalid, in which case it isn't a reader. */
function comparable({ setting, values }: CredentialIdentity): string | undefined {
  const read = values.map((value) => (value === undefined ? '' : readNow(value)));
  return read.includes(undefined) ? undefined : JSON.stringify([setting, ...read]);
}
