import { z } from 'zod';
import { isLoopback } from './addresses.ts';
import { Complaint } from './complaint.ts';
import type { KafkaTopicsConfig, SaslConfig } from './config.ts';
import { fileText } from './file-text.ts';
import { Leaf, isMapping } from './leaf.ts';
import type { TreeMapping } from './leaf.ts';
import type { ReadContext } from './read-context.ts';
import { chosen, mapping, single } from './schema-parts.ts';
import type { RuleBreach, Schema } from './schema-parts.ts';
import { secret } from './secrets.ts';
import { oneOf, text } from './values.ts';

const EXAMPLE = '{ mechanism: scram-sha-512, username: headgate, password: "${KAFKA_PASSWORD}" }';
const WITH_PASSWORD = ['plain', 'scram-sha-256', 'scram-sha-512'] as const;
/** RFC 6750, section 2.1. */
const TOKEN = /^[\w.~+/-]+=*$/;

/** Who we are to Kafka's brokers: by a password, or by a token. */
export function saslSection({ context }: { readonly context: ReadContext }): Schema<SaslConfig> {
  return chosen<SaslConfig>((tree) => {
    const mechanism = isMapping(tree) ? tree['mechanism'] : undefined;
    const meant = mechanism instanceof Leaf ? mechanism.text : undefined;
    if (meant === 'oauthbearer') return byToken({ context });
    if (WITH_PASSWORD.some((known) => known === meant)) return byPassword({ context, mechanism: meant ?? '' });
    // Which keys may stand here isn't known: only the mechanism is complained about.
    return z
      .unknown()
      .transform((given) => (isMapping(given) ? { ...(mechanism !== undefined && { mechanism }) } : given))
      .pipe(mapping({ shape: { mechanism: oneOf([...WITH_PASSWORD, 'oauthbearer']) }, example: EXAMPLE }))
      .transform((): SaslConfig => z.NEVER);
  });
}

function byPassword({ context, mechanism }: { readonly context: ReadContext; readonly mechanism: string }): Schema<SaslConfig> {
  const ofTokens = foreign(`does not belong to ${mechanism}. Remove it, or write mechanism: oauthbearer.`);
  const shape = {
    mechanism: oneOf(WITH_PASSWORD),
    username: text({ pattern: /^[^\0]+$/, example: 'a user name' }),
    password: secret({ context, variable: 'KAFKA_PASSWORD' }),
    token: ofTokens,
    tokenFile: ofTokens,
  };
  return mapping({ shape, example: EXAMPLE }).transform(({ mechanism: known, username, password }) => ({
    mechanism: known,
    username,
    password,
  }));
}

function byToken({ context }: { readonly context: ReadContext }): Schema<SaslConfig> {
  const ofPasswords = foreign(`does not belong to oauthbearer. Remove it, or write mechanism: ${WITH_PASSWORD.join(' or ')}.`);
  const shape = {
    mechanism: oneOf(['oauthbearer']),
    token: token({ context }).exactOptional(),
    tokenFile: tokenFile({ context }).exactOptional(),
    username: ofPasswords,
    password: ofPasswords,
  };
  const example = '{ mechanism: oauthbearer, token: "${KAFKA_TOKEN}" }';
  return mapping({ shape, example, rules: oneToken }).transform(({ mechanism, token: given, tokenFile: path }): SaslConfig => {
    if (given !== undefined) return { mechanism, token: given };
    return path === undefined ? z.NEVER : { mechanism, tokenFile: path };
  });
}

/** A key of another mechanism. */
function foreign(message: string): z.ZodExactOptional<Schema<never>> {
  const refused: Schema<never> = z.unknown().transform((_, ctx) => {
    ctx.addIssue({ code: 'custom', message, params: { at: 'key' } });
    return z.NEVER;
  });
  return refused.exactOptional();
}

function oneToken(sasl: TreeMapping): readonly RuleBreach[] {
  if ('token' in sasl && 'tokenFile' in sasl) return [{ path: ['tokenFile'], message: 'stands beside token. Keep one of the two.' }];
  if ('token' in sasl || 'tokenFile' in sasl) return [];
  return [{ path: [], message: 'needs token or tokenFile. Write token: "${KAFKA_TOKEN}", or tokenFile: ./token.' }];
}

function token({ context }: { readonly context: ReadContext }): Schema<SaslToken> {
  return secret({ context, variable: 'KAFKA_TOKEN' }).superRefine((read, ctx) => {
    if (!TOKEN.test(read())) ctx.addIssue({ code: 'custom', message: 'has a character that no token has. Copy it again.' });
  });
}

type SaslToken = Extract<SaslConfig, { token: unknown }>['token'];

/** Read here only to tell early what is wrong with it. */
function tokenFile({ context }: { readonly context: ReadContext }): Schema<string> {
  return single({
    example: './token',
    read: async (leaf) => {
      const content = await fileText({ context, path: leaf.text ?? '' });
      if (content instanceof Complaint) return content;
      if (TOKEN.test(content.trim())) return context.resolvePath(leaf.text ?? '');
      return new Complaint('names a file that holds no token. Write the token into it, and nothing else.');
    },
  });
}

export interface WarnOfClearTextOptions {
  readonly context: ReadContext;
  /** The section as it was read. */
  readonly tree: unknown;
  readonly config: KafkaTopicsConfig;
}

/** Says so when a password or token would go through a network as it is. */
export function warnOfClearText({ context, tree, config: { brokers, ssl, sasl } }: WarnOfClearTextOptions): void {
  if (sasl === undefined || ssl !== false || brokers.every((broker) => isLoopback(broker.replace(/:\d+$/, '')))) return;
  const what = { plain: 'password', oauthbearer: 'token', 'scram-sha-256': undefined, 'scram-sha-512': undefined }[sasl.mechanism];
  const section = isMapping(tree) ? tree['sasl'] : undefined;
  const leaf = isMapping(section) ? section['mechanism'] : undefined;
  if (what === undefined || !(leaf instanceof Leaf)) return;
  context.warn(leaf, `without ssl the ${what} goes through the network in clear text. Write ssl: true.`);
}
