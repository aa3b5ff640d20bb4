import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { lastLines } from './command.ts';
import { startJava } from './java-process.ts';
import type { JavaProcess } from './java-process.ts';
import { KafkaBrokerError } from './kafka-broker-error.ts';

/** One node: broker and controller in one process. */
export interface KafkaNode {
  /** Node ID, from 1. */
  readonly id: number;
  /** `host:port` of the node's broker, the same after every start. */
  readonly address: string;
  /** `host:port` of each further listener, by its name. */
  readonly addresses: Readonly<Record<string, string>>;
  /** Process ID of the node's Java; undefined if it isn't running. */
  readonly pid: number | undefined;
  /** Kills the node (SIGKILL), paused or not. Resolves when it has ended. */
  readonly kill: () => Promise<void>;
  /**
   * Starts the node with its port and its data, unless it is running. Resolves when it is ready. Throws `KafkaBrokerError` with the end of its log
   * if it doesn't start.
   */
  readonly start: () => Promise<void>;
  /** Freezes the node (SIGSTOP): its connections stay open, but it doesn't respond. Throws `KafkaBrokerError` if it isn't running. */
  readonly pause: () => void;
  /** Lets the node continue (SIGCONT). Throws `KafkaBrokerError` if it isn't running. */
  readonly resume: () => void;
}

export interface KafkaNodeOptions {
  readonly id: number;
  readonly address: string;
  readonly addresses: Readonly<Record<string, string>>;
  /** Folder of the node, with the log of its process, `server.log`. */
  readonly folder: string;
  readonly command: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly readyWithinMs: number;
  readonly ready: () => Promise<boolean>;
}

export interface OwnedNode extends KafkaNode {
  readonly paused: () => boolean;
  /** Asks the node to end (SIGTERM). Resolves when it has ended. */
  readonly stop: () => Promise<void>;
}

const pollMs = 50;
const logFile = 'server.log';

/** Creates a node. No process runs before `start`. */
export function createKafkaNode(options: KafkaNodeOptions): OwnedNode {
  const { id, address, addresses, folder, command, environment } = options;
  let java: JavaProcess | undefined;
  let paused = false;

  const end = async (signal: NodeJS.Signals): Promise<void> => {
    java?.signal(signal);
    await java?.gone();
    paused = false;
  };
  const signal = (name: 'SIGSTOP' | 'SIGCONT'): void => {
    if (java?.running() !== true) throw new KafkaBrokerError(`Kafka node ${id} isn't running; start it first.`);
    java.signal(name);
    paused = name === 'SIGSTOP';
  };
  const failed = async (what: string): Promise<KafkaBrokerError> => {
    await end('SIGKILL');
    const output = lastLines(await readFile(join(folder, logFile), 'utf8'));
    return new KafkaBrokerError(`Kafka node ${id} at ${address} ${what}${output === '' ? ', and wrote nothing.' : `:\n${output}`}`);
  };

  return {
    id,
    address,
    addresses,
    get pid() {
      return java?.running() === true ? java.pid : undefined;
    },
    paused: () => paused,
    async start() {
      if (java?.running() === true) return;
      const started = startJava(command, folder, logFile, environment);
      java = started;
      paused = false;
      const deadline = performance.now() + options.readyWithinMs;
      while (!(await options.ready())) {
        if (!started.running()) throw await failed('ended while it started');
        if (performance.now() > deadline) throw await failed(`was not ready after ${options.readyWithinMs / 1000} s`);
        await sleep(pollMs);
      }
    },
    kill: async () => end('SIGKILL'),
    stop: async () => end('SIGTERM'),
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
  };
}
