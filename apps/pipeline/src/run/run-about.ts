import { hostname } from 'node:os';
import type { Pipeline } from '@headgate/pipeline';
import type { Config } from '../config/config.ts';
import type { RunAbout } from '../status/run-view.ts';
import { version } from '../version.ts';
import { logAddress } from './open-topic-log.ts';

/** Says of a configuration what everybody may know. `file`: as the user named it. */
export function runAbout({ topics, pipelines }: Config, file: string): RunAbout {
  return { ...aboutProcess(pipelines), config: file, log: logAddress(topics), group: topics.group, lanes: topics.lanes };
}

/** The same of this process and its pipelines. */
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
