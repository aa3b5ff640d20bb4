import { type OptionIssue, type Secret, duration, secret } from '@headgate/pipeline';
import type { AvailabilityChange, TopicLog } from '@headgate/topics';
import * as z from 'zod';
import { isLoopback } from './address.ts';
import { plainFileText } from './file-text.ts';
import { pemText } from './pem.ts';

/** RFC 6750, section 2.1. */
const TOKEN = /^[\w.~+/-]+=*$/;

function name(): z.ZodString {
  return z.string().regex(/^[\w.-]{1,100}$/, 'does not fit. Write up to 100 letters, digits, ".", "_" and "-", as in headgate.');
}

const everyLog = {
  group: name().default('headgate').describe('Processes with the same group share the work.'),
  lanes: z
    .int()
    .min(1)
    .max(1_024)
    .default(1)
    .describe('Partitions of the requests topics: credentials are split among them. As many credentials are needed.'),
  prefix: z
    .string()
    .regex(/^[\w.-]{0,100}$/, 'does not fit. Write up to 100 letters, digits, ".", "_" and "-", as in prod.social.')
    .default('')
    .describe('Before the name of every topic, so that groups can share a log. With another one a group begins anew, its budgets too.')
    .meta({ examples: ['prod.social.'] }),
  names: z
    .record(
      z.string(),
      z.string().regex(/^(?!\.{1,2}$)[\w.-]{1,249}$/, 'is no name of a topic. Write up to 249 letters, digits, ".", "_" and "-".'),
    )
    .default({})
    .describe('Other names of single topics, without the prefix.')
    .meta({ examples: [{ 'followers.pages': 'social.follower-pages' }] }),
};

const sqlite = z.strictObject({
  driver: z.literal('sqlite').default('sqlite').describe('An embedded log: everything in one file, nothing to install.'),
  file: z
    .string()
    .min(1)
    // A path ends at a NUL for the system, and the file would be another one.
    .refine((path) => !path.includes('\0'), 'has a NUL character, which no path can have. Remove it.')
    .default('./headgate.db')
    .describe('The file, relative to this one.')
    .meta({ format: 'path', examples: ['./headgate.db'] }),
  retain: duration()
    .exactOptional()
    .describe('Delete records older than this: never state, nor requests that are not done. Without it all are kept.')
    .meta({ examples: ['30d'] }),
  ...everyLog,
});

const BROKER = /^(?:\[[\da-f:.]+\]|[\w.-]+):(\d{1,5})$/i;

const broker = z.string().transform((text, context): string[] => {
  const brokers = text.split(',').map((one) => one.trim());
  const wrong = brokers.some((one) => {
    const [, port = '0'] = BROKER.exec(one) ?? [];
    return Number(port) < 1 || Number(port) > 65_535;
  });
  if (wrong) context.addIssue({ code: 'custom', message: 'is not host:port. Write it as in 127.0.0.1:9092.' });
  return brokers;
});

const ssl = z
  .strictObject({
    ca: pemText('CERTIFICATE', './ca.pem').exactOptional().describe("Certificate of the brokers' own authority: a path, or PEM text."),
    cert: pemText('CERTIFICATE', './client.pem').exactOptional().describe('Certificate of our own: a path, or PEM text.'),
    key: pemText('PRIVATE KEY', './client-key.pem')
      .transform(
        (text): Secret =>
          () =>
            text,
      )
      .exactOptional()
      .describe('Its private key: a path, or PEM text.')
      .meta({ writeOnly: true, format: 'path', examples: ['./client-key.pem'] }),
  })
  .superRefine((given, context) => {
    if ((given.cert === undefined) === (given.key === undefined)) return;
    const [there, other] = given.cert === undefined ? ['key', 'cert'] : ['cert', 'key'];
    context.addIssue({ code: 'custom', path: [there], message: `needs ${other} beside it. Write both, or neither.` });
  });

const password = {
  username: z
    .string()
    .min(1)
    .describe('Name of the user.')
    .meta({ examples: ['headgate'] }),
  password: secret({ encoded: true })
    .describe('Password of the user.')
    .meta({ examples: ['${KAFKA_PASSWORD}'] }),
};

const tokenFlaw = (text: string): boolean => TOKEN.test(text);

const sasl = z.discriminatedUnion('mechanism', [
  z.strictObject({ mechanism: z.literal(['plain', 'scram-sha-256', 'scram-sha-512']).describe('How we say who we are.'), ...password }),
  z
    .strictObject({
      mechanism: z.literal('oauthbearer').describe('By a token.'),
      token: secret()
        .refine((read) => tokenFlaw(read()), 'has a character that no token has. Copy it again.')
        .exactOptional()
        .describe('The token.')
        .meta({ examples: ['${KAFKA_TOKEN}'] }),
      tokenFile: z
        .string()
        .superRefine((path, context) => {
          const text = plainFileText(path);
          const flaw = typeof text === 'string' ? undefined : text.flaw;
          if (flaw !== undefined) context.addIssue({ code: 'custom', message: flaw });
          else if (typeof text === 'string' && !tokenFlaw(text.trim())) {
            context.addIssue({
              code: 'custom',
              message: 'names a file that holds no token. Write the token into it, and nothing else.',
            });
          }
        })
        .exactOptional()
        .describe('File with the token, read whenever brokers ask.')
        .meta({ writeOnly: true, format: 'path', examples: ['./token'] }),
    })
    .superRefine((given, context) => {
      const refuse = (message: string, path: string[] = []): void => context.addIssue({ code: 'custom', path, message });
      if (given.token !== undefined && given.tokenFile !== undefined) {
        refuse('stands beside token. Keep one of the two.', ['tokenFile']);
      } else if (given.token === undefined && given.tokenFile === undefined) {
        refuse('needs token or tokenFile. Write token: "${KAFKA_TOKEN}", or tokenFile: ./token.');
      }
    }),
]);

const kafka = z.strictObject({
  driver: z.literal('kafka').describe('A Kafka cluster, or another that speaks its protocol.'),
  brokers: z
    .union([
      broker,
      z
        .array(broker)
        .min(1)
        .transform((parts) => parts.flat()),
    ])
    .describe('Where the cluster is first asked; one text may hold several, with commas.')
    .meta({ examples: [['127.0.0.1:9092']] }),
  ...everyLog,
  clientId: name().default('headgate').describe("Name in the brokers' logs and quotas."),
  replication: z.int().min(1).max(32_767).default(3).describe('Copies of each partition of topics that are made.'),
  compression: z.enum(['none', 'gzip', 'zstd']).default('gzip').describe('Of records that are written.'),
  ssl: z
    .union([z.boolean(), ssl])
    .default(false)
    .describe('TLS to the brokers.')
    .meta({ examples: [true, { ca: './ca.pem', cert: './client.pem', key: './client-key.pem' }] }),
  sasl: sasl
    .exactOptional()
    .describe('Who we are to the brokers.')
    .meta({ examples: [{ mechanism: 'scram-sha-512', username: 'headgate', password: '${KAFKA_PASSWORD}' }] }),
});

/** Where records go. */
export const topicsSection = z
  .discriminatedUnion('driver', [sqlite, kafka])
  .describe('Where records go: an embedded file, or Kafka.')
  .meta({ examples: [{ driver: 'sqlite', file: './headgate.db' }] });

/** Options of {@link OpenLog}. */
export interface OpenLogOptions {
  /** The command only reads. */
  readonly readOnly: boolean;
  /** Call it if the log can't be reached for two seconds, and when it can again. */
  readonly onAvailability?: (change: AvailabilityChange) => void;
}

/** Opens a log of one's own. The command that called it closes the log. */
export type OpenLog = (options: OpenLogOptions) => TopicLog | Promise<TopicLog>;

/** Of a configuration in code alone: a log of one's own. */
export const ownLogSection = z.strictObject({
  driver: z.literal('own').default('own'),
  log: z.custom<TopicLog | OpenLog>(isOwnLog, 'must be a TopicLog, or a function that opens one.'),
  ...everyLog,
});

/** Whether a value is a log, or a function that opens one. */
export function isOwnLog(value: unknown): value is TopicLog | OpenLog {
  return typeof value === 'function' || (typeof value === 'object' && value !== null && 'openLane' in value && 'readBytes' in value);
}

export type TopicsConfig = SqliteTopicsConfig | KafkaTopicsConfig | OwnTopicsConfig;
export type OwnTopicsConfig = z.output<typeof ownLogSection>;
export type SqliteTopicsConfig = z.output<typeof sqlite>;
export type KafkaTopicsConfig = z.output<typeof kafka>;
export type SaslConfig = z.output<typeof sasl>;

/** Says so when a password or token would go through a network as it is. */
export function* topicsWarnings(topics: TopicsConfig): Generator<OptionIssue> {
  if (topics.driver !== 'kafka' || topics.sasl === undefined || topics.ssl !== false) return;
  if (topics.brokers.every((one) => isLoopback(one.replace(/:\d+$/, '')))) return;
  const what = { plain: 'password', oauthbearer: 'token', 'scram-sha-256': undefined, 'scram-sha-512': undefined }[topics.sasl.mechanism];
  if (what === undefined) return;
  const message = `without ssl the ${what} goes through the network in clear text. Write ssl: true.`;
  yield { path: ['sasl', 'mechanism'], message };
}
