import type { TestProject } from 'vitest/node';
import { startKafkaBroker, whyNoKafkaBroker } from '../packages/sandbox/src/kafka-broker/index.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The one broker of the project `kafka`, whose files share it: each names its topics, groups and transactional ids at random. */
    readonly kafkaBroker: {
      readonly brokers: readonly string[];
      /** Class path of Kafka's own tools. */
      readonly jars: string;
      /** Why there is none. */
      readonly why?: string;
    };
  }
}

/** Kafka's default. The sandbox's session is short, so that a killed broker starts again soon; this one would only lose it on a busy machine. */
export const DEFAULT_SESSION = { 'broker.session.timeout.ms': '9000', 'broker.heartbeat.interval.ms': '2000' };

/** Starts one broker for all tests that only need any. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const why = await whyNoKafkaBroker();
  if (why !== undefined) {
    project.provide('kafkaBroker', { brokers: [], jars: '', why });
    return async () => undefined;
  }
  const { brokers, jars, close } = await startKafkaBroker({ settings: DEFAULT_SESSION });
  project.provide('kafkaBroker', { brokers, jars });
  return close;
}
