import { type OptionIssue, type SecretReader, duration, secret } from '@headgate/pipeline';
import { isLoopback, pemText, plainFileText } from '@headgate/pipeline/internal';
import * as z from 'zod';
import { address } from './address.ts';

/** The syntax of a bearer token (RFC 6750, section 2.1). */
const TOKEN = /^[\w.~+/-]+=*$/;

function name(): z.ZodString {
  return z.string().regex(/^[\w.-]{1,100}$/, 'isn\'t a valid name. Write up to 100 letters, digits, ".", "_" and "-", such as headgate.');
}

const commonSettings = {
  group: name().default('headgate').describe('Group name. Processes with the same group share the lanes.'),
  lanes: z
    .int()
    .min(1)
    .max(1_024)
    .default(1)
    .describe('Number of lanes: partitions of each requests topic. Lanes split the credentials, so each needs at least one.'),
  prefix: z
    .string()
    .regex(/^[\w.-]{0,100}$/, 'isn\'t a valid prefix. Write up to 100 letters, digits, ".", "_" and "-", such as prod.social.')
    .default('')
    .describe('Prefix of every topic name, so that groups can share a log. A group with a new prefix starts over, including its budgets.')
    .meta({ examples: ['prod.social.'] }),
  names: z
    .record(
      z.string(),
      z.string().regex(/^(?!\.{1,2}$)[\w.-]{1,249}$/, 'isn\'t a topic name. Write up to 249 letters, digits, ".", "_" and "-".'),
    )
    .default({})
    .describe('Custom names for single topics, used without the prefix.')
    .meta({ examples: [{ 'followers.pages': 'social.follower-pages' }] }),
};

const sqlite = z.strictObject({
  driver: z.literal('sqlite').default('sqlite').describe('Embedded log: everything in one file, nothing to install.'),
  file: z
    .string()
    .min(1)
    // The operating system ends a path at a NUL, so this path would name another file.
    .refine((path) => !path.includes('\0'), "has a NUL character, which a path can't contain. Remove it.")
    .default('./headgate.db')
    .describe('Log file, relative to the configuration file.')
    .meta({ format: 'path', examples: ['./headgate.db'] }),
  retain: duration()
    .exactOptional()
    .describe('Delete records older than this, except state, jobs and dead letters. Default: keep all.')
    .meta({ examples: ['30d'] }),
  ...commonSettings,
});

const BROKER = /^(?:\[[\da-f:.]+\]|[\w.-]+):(\d{1,5})$/i;

const broker = z.string().transform((text, context): string[] => {
  const brokers = text.split(',').map((one) => one.trim());
  const wrong = brokers.some((one) => {
    const [, port = '0'] = BROKER.exec(one) ?? [];
    return Number(port) < 1 || Number(port) > 65_535;
  });
  if (wrong) context.addIssue({ code: 'custom', message: "isn't host:port. Write, for example, 127.0.0.1:9092." });
  return brokers;
});

const ssl = z
  .strictObject({
    ca: pemText('CERTIFICATE', './ca.pem')
      .exactOptional()
      .describe("Certificate of the brokers' own certificate authority, as a path or PEM text."),
    cert: pemText('CERTIFICATE', './client.pem').exactOptional().describe('Client certificate, as a path or PEM text.'),
    key: pemText('PRIVATE KEY', './client-key.pem')
      .transform(
        (text): SecretReader =>
          () =>
            text,
      )
      .exactOptional()
      .describe('Private key of the client certificate, as a path or PEM text.')
      .meta({ writeOnly: true, format: 'path', examples: ['./client-key.pem'] }),
  })
  .superRefine((given, context) => {
    if ((given.cert === undefined) === (given.key === undefined)) return;
    const [there, other] = given.cert === undefined ? ['key', 'cert'] : ['cert', 'key'];
    context.addIssue({ code: 'custom', path: [there], message: `needs ${other}, too. Write both or neither.` });
  });

const password = {
  username: z
    .string()
    .min(1)
    .describe('User name.')
    .meta({ examples: ['headgate'] }),
  password: secret({ encoded: true })
    .describe('Password.')
    .meta({ examples: ['${KAFKA_PASSWORD}'] }),
};

const isToken = (text: string): boolean => TOKEN.test(text);

const sasl = z.discriminatedUnion('mechanism', [
  z.strictObject({ mechanism: z.literal(['plain', 'scram-sha-256', 'scram-sha-512']).describe('SASL mechanism.'), ...password }),
  z
    .strictObject({
      mechanism: z.literal('oauthbearer').describe('SASL mechanism: a bearer token.'),
      token: secret()
        .refine((read) => isToken(read()), "has a character that tokens can't contain. Copy it again.")
        .exactOptional()
        .describe('Bearer token.')
        .meta({ examples: ['${KAFKA_TOKEN}'] }),
      tokenFile: z
        .string()
        .superRefine((path, context) => {
          const text = plainFileText(path);
          const flaw = typeof text === 'string' ? undefined : text.flaw;
          if (flaw !== undefined) context.addIssue({ code: 'custom', message: flaw });
          else if (typeof text === 'string' && !isToken(text.trim())) {
            context.addIssue({ code: 'custom', message: 'names a file without a valid token. Write the token into it, and nothing else.' });
          }
        })
        .exactOptional()
        .describe('File with the token. Headgate reads it each time a broker requests the token.')
        .meta({ writeOnly: true, format: 'path', examples: ['./token'] }),
    })
    .superRefine((given, context) => {
      const refuse = (message: string, path: string[] = []): void => context.addIssue({ code: 'custom', path, message });
      if (given.token !== undefined && given.tokenFile !== undefined) {
        refuse("can't be combined with token. Keep one of them.", ['tokenFile']);
      } else if (given.token === undefined && given.tokenFile === undefined) {
        refuse('needs token or tokenFile. Write token: "${KAFKA_TOKEN}", or tokenFile: ./token.');
      }
    }),
]);

const registry = z
  .strictObject({
    url: address('http://127.0.0.1:8081').describe('Address of its Confluent API, optionally with a path.'),
    user: z
      .string()
      .min(1)
      .exactOptional()
      .describe('User name, or API key.')
      .meta({ examples: ['headgate'] }),
    password: secret({ encoded: true })
      .exactOptional()
      .describe('Password, or secret of the API key.')
      .meta({ examples: ['${REGISTRY_PASSWORD}'] }),
    bearer: secret()
      .exactOptional()
      .describe('Bearer token.')
      .meta({ examples: ['${REGISTRY_TOKEN}'] }),
    ca: pemText('CERTIFICATE', './ca.pem')
      .exactOptional()
      .describe("Certificate of the registry's own certificate authority, as a path or PEM text."),
    register: z.boolean().default(true).describe('Register missing schemas when a run starts. If false, they must exist.'),
  })
  .superRefine(({ user, password: secretOf, bearer }, context) => {
    const refuse = (key: string, message: string): void => context.addIssue({ code: 'custom', path: [key], message });
    if (user !== undefined && secretOf === undefined) refuse('user', 'needs password, too. Write both or neither.');
    if (user === undefined && secretOf !== undefined) refuse('password', 'needs user, too. Write both or neither.');
    if (user !== undefined && bearer !== undefined) refuse('bearer', "can't be combined with user. Keep one of them.");
  });

/** Settings that Headgate chooses, because what it promises rests on them. */
const CHOSEN: Readonly<Record<string, string>> = {
  'cleanup.policy': 'follows from compact of a stream, or compacted of a topic in code. Remove it.',
  'message.timestamp.type': 'is always LogAppendTime. Remove it.',
};

/** Settings of a topic by Kafka's names. Brokers check the names and values. */
const topicSettings = z.record(z.string(), z.string()).superRefine((settings, context) => {
  for (const name of Object.keys(settings)) {
    const message = CHOSEN[name];
    if (message !== undefined) context.addIssue({ code: 'custom', path: [name], message });
  }
});

const kafka = z.strictObject({
  driver: z.literal('kafka').describe('Kafka cluster, or any cluster that speaks its protocol.'),
  brokers: z
    .union([
      broker,
      z
        .array(broker)
        .min(1)
        .transform((parts) => parts.flat()),
    ])
    .describe('Bootstrap brokers, as a list or as one comma-separated text.')
    .meta({ examples: [['127.0.0.1:9092']] }),
  ...commonSettings,
  clientId: name().default('headgate').describe("Client ID in the brokers' logs and quotas."),
  replication: z.int().min(1).max(32_767).default(3).describe('Replication factor of topics that Headgate creates.'),
  settings: z
    .record(z.string(), topicSettings)
    .default({})
    .describe(
      "Kafka's settings of single topics, such as `retention.ms`. Missing topics are created with them; `check` and `run` warn of others.",
    )
    .meta({ examples: [{ 'followers.pages': { 'retention.ms': '604800000' } }] }),
  compression: z.enum(['none', 'gzip', 'zstd']).default('gzip').describe('Compression of written records.'),
  ssl: z
    .union([z.boolean(), ssl])
    .default(false)
    .describe('TLS for connections to the brokers.')
    .meta({ examples: [true, { ca: './ca.pem', cert: './client.pem', key: './client-key.pem' }] }),
  sasl: sasl
    .exactOptional()
    .describe('SASL authentication with the brokers.')
    .meta({ examples: [{ mechanism: 'scram-sha-512', username: 'headgate', password: '${KAFKA_PASSWORD}' }] }),
  registry: registry
    .exactOptional()
    .describe('Schema registry for records in another `format` than JSON.')
    .meta({ examples: [{ url: 'http://127.0.0.1:8081' }] }),
});

/** The schema of the `topics` section, which says where records go. */
export const topicsSection = z
  .discriminatedUnion('driver', [sqlite, kafka])
  .describe('Log for all records: an embedded file, or Kafka.')
  .meta({ examples: [{ driver: 'sqlite', file: './headgate.db' }] });

export type TopicsConfig = SqliteTopicsConfig | KafkaTopicsConfig;
export type SqliteTopicsConfig = z.output<typeof sqlite>;
export type KafkaTopicsConfig = z.output<typeof kafka>;
export type RegistryConfig = z.output<typeof registry>;
export type SaslConfig = z.output<typeof sasl>;

/** Warns if a password or token would cross a network unencrypted. SCRAM doesn't send the password. */
export function* topicsWarnings(topics: TopicsConfig): Generator<OptionIssue> {
  if (topics.driver !== 'kafka') return;
  const { url, password: secretOf, bearer } = topics.registry ?? {};
  if (url?.startsWith('http:') === true && (secretOf ?? bearer) !== undefined && !isLoopback(new URL(url).hostname)) {
    const message = `without TLS, the ${bearer === undefined ? 'password' : 'token'} crosses the network in clear text. Write https.`;
    yield { path: ['registry', 'url'], message };
  }
  if (topics.sasl === undefined || topics.ssl !== false) return;
  if (topics.brokers.every((one) => isLoopback(one.replace(/:\d+$/, '')))) return;
  const what = { plain: 'password', oauthbearer: 'token', 'scram-sha-256': undefined, 'scram-sha-512': undefined }[topics.sasl.mechanism];
  if (what === undefined) return;
  const message = `without ssl, the ${what} crosses the network in clear text. Write ssl: true.`;
  yield { path: ['sasl', 'mechanism'], message };
}
