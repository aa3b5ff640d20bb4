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

/** Starts the broker that all tests of a run share. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const why = await whyNoKafkaBroker();
  if (why !== undefined) {
    project.provide('kafkaBroker', { brokers: [], jars: '', why });
    return async () => undefined;
  }
  const { brokers, jars, close } = await startKafkaBroker({ settings: DEFAULT_SESSION, readyWithinMs: 300_000 });
  project.provide('kafkaBroker', { brokers, jars });
  return close;
}
