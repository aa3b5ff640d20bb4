import { z } from 'zod';
import { readBrokers } from './addresses.ts';
import type { KafkaTopicsConfig, SqliteTopicsConfig, TopicsConfig } from './config.ts';
import { Leaf, isMapping } from './leaf.ts';
import type { TreeMapping } from './leaf.ts';
import { certificate, privateKey } from './pem.ts';
import type { ReadContext } from './read-context.ts';
import { saslSection, warnOfClearText } from './sasl-section.ts';
import { chosen, list, mapping, single } from './schema-parts.ts';
import type { RuleBreach, Schema } from './schema-parts.ts';
import { flag, oneOf, text, wholeNumber } from './values.ts';

const EXAMPLE = '{ driver: sqlite, file: ./headgate.db }';
const NAME = { pattern: /^[\w.-]{1,100}$/, example: 'headgate (up to 100 letters, digits, ".", "_" and "-")' };

/** Where records go: the embedded file, or Kafka. */
export function topicsSection({ context }: { readonly context: ReadContext }): Schema<TopicsConfig> {
  return chosen<TopicsConfig>((tree) => {
    const driver = isMapping(tree) ? tree['driver'] : undefined;
    const meant = driver instanceof Leaf ? driver.text : undefined;
    if (meant === 'kafka') {
      return kafkaTopics({ context }).transform((config) => {
        warnOfClearText({ context, tree, config });
        return config;
      });
    }
    if (driver === undefined || meant === 'sqlite') return sqliteTopics({ context });
    // Which keys may stand here isn't known: only the driver is complained about.
    return z
      .unknown()
      .transform((given) => (isMapping(given) ? { driver: given['driver'] } : given))
      .pipe(mapping({ shape: { driver: oneOf(['sqlite', 'kafka']) }, example: EXAMPLE }))
      .transform((): TopicsConfig => z.NEVER);
  });
}

function sqliteTopics({ context }: { readonly context: ReadContext }): Schema<SqliteTopicsConfig> {
  const file = single({ example: './headgate.db', read: (leaf) => context.resolvePath(leaf.text ?? '') });
  const shape = {
    driver: oneOf(['sqlite']).default('sqlite'),
    file: file.default(context.resolvePath('headgate.db')),
    group: text(NAME).default('headgate'),
    lanes: lanes(),
  };
  return mapping({ shape, example: EXAMPLE });
}

function kafkaTopics({ context }: { readonly context: ReadContext }): Schema<KafkaTopicsConfig> {
  const broker = single({ example: '127.0.0.1:9092', read: readBrokers });
  const brokers = list({ item: broker, example: '[127.0.0.1:9092]' }).transform((parts) => parts.flat());
  const shape = {
    driver: oneOf(['kafka']),
    // One variable may hold them all, parted by commas.
    brokers: chosen((tree) => (tree instanceof Leaf ? broker : brokers)),
    clientId: text(NAME).default('headgate'),
    group: text(NAME).default('headgate'),
    lanes: lanes(),
    replication: wholeNumber({ min: 1, max: 32_767 }).default(3),
    compression: oneOf(['none', 'gzip', 'zstd']).default('gzip'),
    ssl: chosen<KafkaTopicsConfig['ssl']>((tree) => (isMapping(tree) ? sslFiles({ context }) : flag())).default(false),
    sasl: saslSection({ context }).exactOptional(),
  };
  return mapping({ shape, example: '{ driver: kafka, brokers: [127.0.0.1:9092] }' });
}

function lanes(): z.ZodDefault<Schema<number>> {
  return wholeNumber({ min: 1, max: 1024 }).default(1);
}

function sslFiles({ context }: { readonly context: ReadContext }): Schema<Exclude<KafkaTopicsConfig['ssl'], boolean>> {
  const shape = {
    ca: certificate({ context, example: './ca.pem' }).exactOptional(),
    cert: certificate({ context, example: './client.pem' }).exactOptional(),
    key: privateKey({ context, example: './client-key.pem' }).exactOptional(),
  };
  return mapping({ shape, example: 'true, or { ca: ./ca.pem }', rules: certAndKey });
}

function certAndKey(ssl: TreeMapping): readonly RuleBreach[] {
  if ('cert' in ssl === 'key' in ssl) return [];
  const [given, other] = 'cert' in ssl ? ['cert', 'key'] : ['key', 'cert'];
  return [{ path: [given], message: `needs ${other} beside it. Write both, or neither.` }];
}
