import { randomUUID } from 'node:crypto';
import { type FollowersSandbox, type FollowersUser, type Latency, type WindowOptions, startFollowers } from '@headgate/sandbox';
import { type KafkaBroker, type KafkaBrokerOptions, startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import { SECRETS, type Workplace, workplace } from '../headgate-process.fixture.ts';
import { type Fleet, fleet } from './fleet.fixture.ts';

/** Set by `npm run torture`, for more faults and longer runs. */
export const TORTURE: boolean = process.env['HEADGATE_TORTURE'] === '1';

export const WHY_NOT: string | undefined = await whyNoKafkaBroker();

/** Part of the title of skipped tests: the reason. */
export const BECAUSE: string = WHY_NOT === undefined ? '' : `: skipped, ${WHY_NOT}`;

/** A `SharedKafkaPlace` with its own broker. */
export interface KafkaPlace extends SharedKafkaPlace {
  readonly broker: KafkaBroker;
}

/** A broker, the emulated service, a folder with a configuration for both, and processes in that folder. Other test files can use the broker. */
export interface SharedKafkaPlace extends AsyncDisposable {
  readonly broker: Pick<KafkaBroker, 'brokers'>;
  /** Prefix of all topics and of the group. Empty if the test has its own broker. */
  readonly prefix: string;
  readonly service: FollowersSandbox;
  readonly work: Workplace;
  readonly fleet: Fleet;
  readonly users: Readonly<Record<string, FollowersUser>>;
  readonly lanes: number;
}

export interface KafkaPlaceOptions extends ConfigOptions {
  readonly users: Readonly<Record<string, FollowersUser>>;
  /** Limit of the service. Default: practically none. */
  readonly window?: WindowOptions;
  /** Latency of the service. Default: 0 to 20 ms. */
  readonly latencyMs?: Latency;
  readonly broker?: KafkaBrokerOptions;
}

export interface ConfigOptions {
  /** Default: 1. */
  readonly lanes?: number;
  /** Number of credentials. Default: 1. */
  readonly credentials?: number;
  /** Default: 1. */
  readonly replication?: number;
  /** Topics to write, as in the configuration. Default: pages and ids. */
  readonly emit?: string;
  /** The `status` setting. Default: false. */
  readonly status?: string;
  /** Further settings of the topics section. */
  readonly topics?: string;
  /** Users in the configuration's list. Default: all users. */
  readonly listed?: readonly string[];
  /** Default: gzip. */
  readonly compression?: string;
  /** Default: headgate. */
  readonly group?: string;
  /** Further lines of the followers section. */
  readonly more?: string;
}

const FREELY: WindowOptions = { kind: 'rolling', limit: 100_000, windowMs: 1_000 };

export async function kafkaPlace(options: KafkaPlaceOptions): Promise<KafkaPlace> {
  await using started = new AsyncDisposableStack();
  const broker = started.use(await startKafkaBroker(options.broker));
  const place = started.use(await placeOn(broker, '', options));
  const all = started.move();
  return { ...place, broker, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/** A place on `brokers`, whose topics and group have a prefix that no other place uses. */
export async function sharedKafkaPlace(
  brokers: readonly string[],
  options: Omit<KafkaPlaceOptions, 'broker' | 'group'>,
): Promise<SharedKafkaPlace> {
  const prefix = `${randomUUID()}.`;
  return await placeOn({ brokers }, prefix, {
    ...options,
    group: `${prefix}headgate`,
    topics: `${options.topics ?? ''}, prefix: ${prefix}`,
  });
}

async function placeOn(broker: Pick<KafkaBroker, 'brokers'>, prefix: string, options: KafkaPlaceOptions): Promise<SharedKafkaPlace> {
  const { users, window = FREELY, latencyMs = { min: 0, max: 20 }, lanes = 1, listed = Object.keys(users) } = options;
  await using started = new AsyncDisposableStack();
  const credentials = Object.values(SECRETS).map((bearer, i) => ({ name: `app-${i}`, bearer }));
  const service = started.use(await startFollowers({ users, window, latencyMs, credentials }));
  const config = kafkaYaml({ ...options, listed, brokers: broker.brokers, url: service.url, window });
  const work = started.use(await workplace(config));
  const crew = started.use(fleet({ folder: work.folder }));
  const all = started.move();
  return { broker, prefix, service, work, fleet: crew, users, lanes, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

export function kafkaYaml(
  options: ConfigOptions & { readonly brokers: readonly string[]; readonly url: string; readonly window: WindowOptions },
): string {
  const {
    brokers,
    url,
    window,
    lanes = 1,
    credentials = 1,
    replication = 1,
    compression = 'gzip',
    group = 'headgate',
    emit = '[pages, ids]',
    status = 'false',
    listed = [],
    topics = '',
  } = options;
  const secrets = Object.keys(SECRETS).slice(0, credentials);
  return `topics: { driver: kafka, brokers: [${brokers.join(', ')}], replication: ${replication}, compression: ${compression}, lanes: ${lanes}, group: ${group}${topics} }
status: ${status}
followers:
  baseUrl: ${url}
  credentials:
${secrets.map((name, i) => `    - { name: app-${i}, bearer: "\${${name}}" }`).join('\n')}
  limit: { requests: ${window.limit}, window: ${window.windowMs}ms }
  users: [${listed.join(', ')}]
  emit: ${emit}
${options.more ?? ''}`;
}
