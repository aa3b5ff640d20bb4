import { randomUUID } from 'node:crypto';
import { type FollowersSandbox, type FollowersUser, type Latency, type WindowOptions, startFollowers } from '@headgate/sandbox';
import { type KafkaBroker, type KafkaBrokerOptions, startKafkaBroker, whyNoKafkaBroker } from '@headgate/sandbox/kafka-broker';
import { SECRETS, type Workplace, workplace } from '../headgate-process.fixture.ts';
import { type Fleet, fleet } from './fleet.fixture.ts';

/** `npm run torture` sets it: every fault at full length. */
export const TORTURE: boolean = process.env['HEADGATE_TORTURE'] === '1';

export const WHY_NOT: string | undefined = await whyNoKafkaBroker();

/** For the title of what is skipped. */
export const BECAUSE: string = WHY_NOT === undefined ? '' : `: skipped, ${WHY_NOT}`;

/** A broker, the emulated service, a folder with a config for both, and processes in it. */
export interface KafkaPlace extends SharedKafkaPlace {
  readonly broker: KafkaBroker;
}

/** A place on the broker that other files use at the same time. */
export interface SharedKafkaPlace extends AsyncDisposable {
  readonly broker: Pick<KafkaBroker, 'brokers'>;
  /** What the names of all topics begin with, and the group's; empty on a broker of its own. */
  readonly prefix: string;
  readonly service: FollowersSandbox;
  readonly work: Workplace;
  readonly fleet: Fleet;
  readonly users: Readonly<Record<string, FollowersUser>>;
  readonly lanes: number;
}

export interface KafkaPlaceOptions extends ConfigOptions {
  readonly users: Readonly<Record<string, FollowersUser>>;
  /** Default: as good as none. */
  readonly window?: WindowOptions;
  /** Default 0 to 20. */
  readonly latencyMs?: Latency;
  readonly broker?: KafkaBrokerOptions;
}

export interface ConfigOptions {
  /** Default 1. */
  readonly lanes?: number;
  /** Default 1. */
  readonly credentials?: number;
  /** Default 1. */
  readonly replication?: number;
  /** Default both. */
  readonly emit?: string;
  /** Default false. */
  readonly status?: string;
  /** Further fields of the topics section. */
  readonly topics?: string;
  /** Names in the config's list; default: all users. */
  readonly listed?: readonly string[];
  /** Default gzip. */
  readonly compression?: string;
  /** Default headgate. */
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

/** A place on `brokers`, with topics and a group that nobody else names so. */
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

/** A whole config for the followers service on Kafka. */
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
