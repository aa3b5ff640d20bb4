import type { FollowersCredential } from './config.ts';
import { Leaf, isMapping } from './leaf.ts';
import type { Tree, TreeMapping } from './leaf.ts';
import type { ReadContext } from './read-context.ts';
import { list, mapping } from './schema-parts.ts';
import type { RuleBreach, Schema } from './schema-parts.ts';
import { secret } from './secrets.ts';
import { z } from 'zod';
import { text } from './values.ts';

const EXAMPLE = '{ name: app, bearer: "${FOLLOWERS_BEARER_TOKEN}" }';

/** Credentials of the followers service: each a name of its own and exactly one of bearer and oauth1. */
export function credentialsList({ context }: { readonly context: ReadContext }): Schema<readonly FollowersCredential[]> {
  const name = text({ pattern: /^[A-Za-z\d][\w.-]{0,63}$/, example: 'app (letters, digits, ".", "_" and "-")' });
  const oauth1 = mapping({
    shape: {
      consumerKey: secret({ context, variable: 'CONSUMER_KEY', encoded: true }),
      consumerSecret: secret({ context, variable: 'CONSUMER_SECRET', empty: true, encoded: true }),
      token: secret({ context, variable: 'TOKEN', encoded: true }).exactOptional(),
      tokenSecret: secret({ context, variable: 'TOKEN_SECRET', empty: true, encoded: true }).exactOptional(),
    },
    example: '{ consumerKey: "${CONSUMER_KEY}", consumerSecret: "${CONSUMER_SECRET}" }',
    rules: tokenWithItsSecret,
  });
  const bearer = secret({ context, variable: 'FOLLOWERS_BEARER_TOKEN' });
  const item = mapping({
    shape: { name, bearer: bearer.exactOptional(), oauth1: oauth1.exactOptional() },
    example: EXAMPLE,
    rules: oneKind,
  }).transform((read): FollowersCredential => {
    if (read.bearer !== undefined) return { name: read.name, bearer: read.bearer };
    return read.oauth1 === undefined ? z.NEVER : { name: read.name, oauth1: read.oauth1 };
  });
  return list({ item, example: `[${EXAMPLE}]`, rules: (credentials) => [...uniqueNames(credentials), ...uniqueSecrets(credentials)] });
}

function oneKind(credential: TreeMapping): readonly RuleBreach[] {
  if ('bearer' in credential && 'oauth1' in credential) {
    return [{ path: ['oauth1'], message: 'stands beside bearer. Keep one of the two, or make two credentials of them.' }];
  }
  if ('bearer' in credential || 'oauth1' in credential) return [];
  return [{ path: [], message: 'needs bearer or oauth1. Write bearer: "${FOLLOWERS_BEARER_TOKEN}".' }];
}

function tokenWithItsSecret(oauth1: TreeMapping): readonly RuleBreach[] {
  if ('token' in oauth1 || !('tokenSecret' in oauth1)) return [];
  return [{ path: ['tokenSecret'], message: 'needs token beside it. Write both, or neither.' }];
}

function uniqueNames(credentials: readonly Tree[]): readonly RuleBreach[] {
  const names = credentials.map((credential) => {
    const name = isMapping(credential) ? credential['name'] : undefined;
    return name instanceof Leaf ? name.text : undefined;
  });
  return names.flatMap((name, index) =>
    name === undefined || names.indexOf(name) === index
      ? []
      : [{ path: [index, 'name'], message: `is the name of credentials[${names.indexOf(name)}], too. Give each a name of its own.` }],
  );
}

/** Two credentials with one secret are one to the service, with one budget: each with a budget of its own they would overrun it. */
function uniqueSecrets(credentials: readonly Tree[]): readonly RuleBreach[] {
  const secrets = credentials.map((credential) => (isMapping(credential) ? secretOf(credential) : undefined));
  return secrets.flatMap((secret, index) => {
    const first = secrets.findIndex((other) => secret !== undefined && other?.value === secret.value);
    if (secret === undefined || first === index) return [];
    const message = `is the secret of credentials[${first}], too: to the service they are one, with one budget. Keep one of the two.`;
    return [{ path: [index, ...secret.path], message }];
  });
}

interface ComparedSecret {
  /** The same for secrets that the service takes for one. */
  readonly value: string;
  readonly path: readonly string[];
}

function secretOf({ bearer, oauth1 }: TreeMapping): ComparedSecret | undefined {
  const text = (tree: Tree | undefined): string | undefined => (tree instanceof Leaf && !tree.broken ? tree.text : undefined);
  const token = text(bearer);
  if (token !== undefined && token !== '') return { value: JSON.stringify([token]), path: ['bearer'] };
  if (!isMapping(oauth1)) return undefined;
  const [consumer, user] = [text(oauth1['consumerKey']), oauth1['token'] === undefined ? '' : text(oauth1['token'])];
  return consumer === undefined || user === undefined ? undefined : { value: JSON.stringify([consumer, user]), path: ['oauth1'] };
}
