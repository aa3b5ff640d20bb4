import { KafkaBrokerError, isPortFree, startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import { orAborted } from '@headgate/throttle/internal';
import type { CommandContext } from './command-context.ts';
import { UsageError } from './usage-error.ts';

export const KAFKA_PORT = 9092;

export interface SandboxBroker extends AsyncDisposable {
  /** `host:port`. */
  readonly address: string;
  /** The `topics` section of a headgate.yaml that uses this broker. */
  readonly topics: string;
}

/** A busy machine may need minutes, and Ctrl-C ends the wait. */
const READY_WITHIN_MS = 300_000;
type BrokerContext = Pick<CommandContext, 'env' | 'stderr' | 'signal' | 'json'>;

const WITHOUT = 'With Docker, `docker compose up` of the repository starts a broker on 127.0.0.1:9092.';

/**
 * Starts a real Kafka broker in a temporary folder. `port`: 0 picks a free one. Throws a `UsageError` that says what to do if the broker
 * can't be started, for example because Java is missing.
 */
export async function startSandboxBroker(
  { port }: { readonly port: number },
  { env, stderr, signal, json }: BrokerContext,
): Promise<SandboxBroker> {
  const environment = { ...env };
  const reason = await whyNoKafkaBroker(environment);
  if (reason !== undefined) throw new UsageError(`${reason} ${WITHOUT}`);
  const say = (text: string): void => void (json || stderr.write(`${text}\n`));
  const onFetch = (): void => say('Downloading Kafka with Maven (once; takes about a minute).');
  say('Starting Kafka.');
  const starting = startKafkaBroker({ environment, onFetch, readyWithinMs: READY_WITHIN_MS, ...(port !== 0 && { port }) }).catch(
    (error: unknown) => {
      throw error instanceof KafkaBrokerError ? new UsageError(`${error.message}\n${WITHOUT}`, { cause: error }) : error;
    },
  );
  // A broker that starts during a stop ends with the process.
  const broker = await orAborted(signal, starting);
  const [address = ''] = broker.brokers;
  return { address, topics: `{ driver: kafka, brokers: ["${address}"], replication: 1 }`, [Symbol.asyncDispose]: () => broker.close() };
}

/** Starts a broker on Kafka's usual port, or on a free one if that port is in use. */
export async function startSandboxBrokerAnywhere(context: BrokerContext): Promise<SandboxBroker> {
  return await startSandboxBroker({ port: (await isPortFree(KAFKA_PORT)) ? KAFKA_PORT : 0 }, context);
}
