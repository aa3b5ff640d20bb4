import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Whether a page becomes one record, or one record per ID. */
export type Shape = 'pages' | 'ids';

export interface Job {
  readonly origin: string;
  readonly brokers: readonly string[];
  /** An empty folder for this contestant. */
  readonly folder: string;
  /** Whether to keep running when all pages are written. Only Headgate can. */
  readonly follow?: boolean;
}

export interface Command {
  readonly argv: readonly [string, ...string[]];
  readonly folder: string;
}

/** A measured program with one shape of records. */
export interface Contestant {
  /** Name of the program. Unique together with the shape. */
  readonly name: string;
  readonly shape: Shape;
  readonly topic: string;
  readonly log: 'kafka' | 'embedded';
  /** `same`: the bytes that Headgate writes. `other`: different records with the same IDs. */
  readonly records: 'same' | 'other';
  readonly isHeadgate: boolean;
  command(job: Job): Command;
}

export const INSTALLED = 'headgate, installed';
const CLONE = 'headgate, npm run';
export const EMBEDDED = 'headgate, embedded log';
export const TWITTER_API = 'twitter-api-v2 + kafkajs';
export const TWEEPY = 'tweepy + librdkafka';
export const TWEEPY_SAME = 'tweepy + librdkafka, the same records';
const EXACTLY_ONCE = 'librdkafka, transactions, the same records';

const SHAPES: readonly Shape[] = ['pages', 'ids'];
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const program = (name: string): string => fileURLToPath(new URL(`./programs/${name}`, import.meta.url));

/** `python`: the Python in which the peers written in Python are installed. `installed`: the command of the installed Headgate. */
export function contestants(peers: string, python: string, installed: string): readonly Contestant[] {
  const clone = ['npm', '--prefix', ROOT, 'run', '--silent', 'headgate', '--'] as const;
  const node = (file: string) => [process.execPath, join(peers, file)] as const;
  return SHAPES.flatMap((shape) => {
    const peer = (name: string, argv: readonly [string, ...string[]], records: Contestant['records'] = 'other'): Contestant => {
      const topic = `peer.${shape}`;
      const command: Contestant['command'] = ({ folder, ...job }) => ({
        argv: [...argv, JSON.stringify({ ...job, shape, topic, records })],
        folder,
      });
      return { name, shape, topic, log: 'kafka', records, isHeadgate: false, command };
    };
    return [
      headgate(INSTALLED, shape, [installed], 'kafka'),
      headgate(CLONE, shape, clone, 'kafka'),
      headgate(EMBEDDED, shape, [installed], 'embedded'),
      peer(TWITTER_API, node('twitter-api-v2.mjs')),
      peer(TWEEPY, [python, program('tweepy_librdkafka.py')]),
      ...(shape === 'ids' ? [peer(TWEEPY_SAME, [python, program('tweepy_librdkafka.py')], 'same')] : []),
      peer(EXACTLY_ONCE, [python, program('exactly_once_librdkafka.py')], 'same'),
    ];
  });
}

/** The topics that must exist before the program starts, or before a reader waits for its records. Headgate creates all others itself. */
export function topicsOf({ isHeadgate, topic }: Contestant): readonly string[] {
  return isHeadgate ? [topic] : [topic, 'peer.state'];
}

/** The programs that import packages installed by npm. Each is copied into the folder of these packages. */
export const NODE_PROGRAMS: readonly string[] = [program('twitter-api-v2.mjs')];

function headgate(name: string, shape: Shape, argv: readonly [string, ...string[]], log: Contestant['log']): Contestant {
  return {
    name,
    shape,
    topic: `followers.${shape}`,
    log,
    records: 'same',
    isHeadgate: true,
    command: (job) => {
      writeFileSync(join(job.folder, 'headgate.yaml'), headgateYaml(shape, log, job));
      return { argv: [...argv, 'run', ...(job.follow === true ? ['--follow'] : [])], folder: job.folder };
    },
  };
}

export const EMBEDDED_FILE = 'log.db';

/** A configuration whose budget is never used up. Each folder has its own group, so a run finds no state of an earlier one. */
function headgateYaml(shape: Shape, log: Contestant['log'], { origin, brokers, folder }: Job): string {
  const kafka = `driver: kafka, brokers: [${brokers.join(', ')}], group: ${folder.replaceAll(/\W/gu, '')}, replication: 1, compression: none`;
  return `topics: { ${log === 'kafka' ? kafka : `driver: sqlite, file: ./${EMBEDDED_FILE}`} }
status: false
followers:
  baseUrl: ${origin}
  credentials:
    - { name: app, bearer: token }
  limit: { requests: 1000000, window: 1s }
  users: [alpha]
  emit: [${shape}]
`;
}
