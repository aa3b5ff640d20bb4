import type { ProvidedContext } from 'vitest';
import type { TestProject } from 'vitest/node';
import { startKafkaBroker, whyNoKafkaBroker } from '../packages/broker/src/index.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /**
     * The broker that all files of the project `kafka` share, so each file must use its own names for topics, groups and transactional IDs.
     */
    readonly kafkaBroker: {
      readonly brokers: readonly string[];
      /** Class path of Kafka's own tools. */
      readonly jars: string;
      /** Reason why there is no broker. Absent if there is one. */
      readonly why?: string;
    };
  }
}

/** Kafka's default timeouts. The sandbox's are shorter, for quick restarts of killed brokers, but a busy machine would exceed them. */
export const DEFAULT_SESSION = { 'broker.session.timeout.ms': '9000', 'broker.heartbeat.interval.ms': '2000' };

/** What tests get of the broker: its addresses, or why there is none. */
type Provided = ProvidedContext['kafkaBroker'];

/** Starts the broker that all tests of a run share. */
export async function startSharedBroker(): Promise<{ readonly provided: Provided; readonly close: () => Promise<void> }> {
  const why = await whyNoKafkaBroker();
  if (why !== undefined) return { provided: { brokers: [], jars: '', why }, close: async () => undefined };
  const { brokers, jars, close } = await startKafkaBroker({ settings: DEFAULT_SESSION, readyWithinMs: 300_000 });
  return { provided: { brokers, jars }, close };
}

/** Takes the broker that `npm test` has started for the tests of all packages, or starts one. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const shared = process.env['HEADGATE_SHARED_BROKER'];
  if (shared !== undefined) {
    project.provide('kafkaBroker', JSON.parse(shared) as Provided);
    return async () => undefined;
  }
  const { provided, close } = await startSharedBroker();
  project.provide('kafkaBroker', provided);
  return close;
}
