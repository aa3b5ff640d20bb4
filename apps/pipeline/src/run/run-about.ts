import { hostname } from 'node:os';
import type { Pipeline } from '@headgate/pipeline';
import type { Config } from '../config/config.ts';
import type { RunAbout } from '../status/run-view.ts';
import { version } from '../version.ts';
import { logAddress } from './open-topic-log.ts';

/** Describes a run for the status page and logs, without secrets. `file`: the configuration file, as the user named it. */
export function runAbout({ topics, pipelines }: Config, file: string): RunAbout {
  return { ...aboutProcess(pipelines), config: file, log: logAddress(topics), group: topics.group, lanes: topics.lanes };
}

/** Describes this process and its pipelines, without secrets. */
export function aboutProcess(pipelines: readonly Pipeline[]): Omit<RunAbout, 'config' | 'log' | 'group' | 'lanes'> {
  return {
    version: version(),
    host: hostname(),
    pid: process.pid,
    pipelines: pipelines.map(({ name, credentials, everyMs, maxOutstanding }) => ({
      name,
      ...(credentials !== undefined && { credentials }),
      ...(everyMs !== undefined && { everyMs }),
      maxOutstanding,
    })),
  };
}
