import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Job } from './job.ts';
import { type MeasuredProcess, measuredProcess } from './measured-process.ts';

const PLAIN_LOOP = fileURLToPath(new URL('./plain-loop.ts', import.meta.url));

/** One of those who are compared. */
export interface Client {
  readonly name: string;
  /** Where it writes. */
  topic(shape: Job['shape']): string;
  /** Other topics it writes to and does not make; default none. */
  readonly furtherTopics?: readonly string[];
  /** `folder` is the client's own, and empty; it goes with the broker. */
  start(job: Job, folder: string): Promise<MeasuredProcess>;
  /** Whether it ends when all pages are written; else it stays, with nothing to do. */
  readonly ends: boolean;
}

export const HEADGATE: Client = {
  name: 'headgate run --follow',
  topic: (shape) => `followers.${shape}`,
  ends: false,
  async start(job, folder) {
    await writeFile(join(folder, 'headgate.yaml'), headgateYaml(job));
    const main = fileURLToPath(new URL('../../../pipeline/src/main.ts', import.meta.url));
    const flags = ['--conditions=@headgate/source', '--disable-warning=ExperimentalWarning', '--max-semi-space-size=4'];
    const node = [...flags, main, 'run', '--follow'];
    return measuredProcess({ name: HEADGATE.name, program: { node }, folder, env: { BENCH_TOKEN: 'token' } });
  },
};

export const PLAIN: Client = {
  name: 'undici + JSON.parse + kafkajs',
  topic: (shape) => `plain.${shape}`,
  ends: true,
  start: (job) => Promise.resolve(measuredProcess({ name: PLAIN.name, program: { node: [PLAIN_LOOP, JSON.stringify(job)] } })),
};

/** A budget so large that nothing waits for it; a page is held while the other client has its turn, so a try may take long. */
function headgateYaml({ shape, codec, origin, brokers }: Job): string {
  return `topics: { driver: kafka, brokers: [${brokers.join(', ')}], replication: 1, compression: ${codec} }
status: false
followers:
  baseUrl: ${origin}
  credentials:
    - { name: app, bearer: "\${BENCH_TOKEN}" }
  limit: { requests: 1000000, window: 1s }
  timeout: 1h
  users: [alpha]
  emit: [${shape}]
`;
}
