import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunEvent, start } from '@headgate/pipeline';
import { type Clock, systemClock } from '@headgate/throttle';
import type { TopicLog, TopicRecord } from '@headgate/topics';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/config-folder.fixture.ts';
import { SECRETS } from './headgate-process.fixture.ts';

export interface InProcessOptions {
  /** Clock of the runs and their log. Default: the machine's. */
  readonly clock?: Clock;
  /** Wraps the log that the runs use, for example to inject faults. Default: no wrapper. */
  readonly around?: (log: TopicLog) => TopicLog;
}

export interface InProcessRun {
  /** The events of the run so far. */
  readonly events: readonly RunEvent[];
  /** Resolves when the run has ended, to the errors of the lanes that couldn't continue. */
  readonly ended: Promise<readonly unknown[]>;
  /** Stops the run as Ctrl-C does. */
  stop(): void;
}

/** Runs configurations within this process on one embedded log, for tests with virtual time or a faulty log. */
export interface InProcess extends AsyncDisposable {
  readonly log: TopicLog;
  /** Loads a configuration. Paths are relative to a temporary folder, and the variables are those of a `workplace`. */
  config(yaml: string): Promise<Config>;
  /** Runs the pipelines of a configuration as `headgate run` does, including their lists. */
  start(yaml: string, options?: { readonly follow?: boolean }): InProcessRun;
  values(topic: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

export async function inProcess({ clock = systemClock(), around = (log) => log }: InProcessOptions = {}): Promise<InProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-in-process-'));
  const embedded = await sqliteTopicLog({ file: join(folder, 'headgate.db'), now: () => clock.epochMs() });
  const log = around(embedded);
  const runs = new Set<InProcessRun>();

  const config = async (yaml: string): Promise<Config> => {
    await writeFile(join(folder, 'headgate.yaml'), yaml);
    return (await loadConfig({ cwd: folder, env: SECRETS })).config;
  };

  return {
    log,
    config,
    start(yaml, { follow = false } = {}) {
      const events: RunEvent[] = [];
      const stop = new AbortController();
      const work = async (): Promise<readonly unknown[]> => {
        const { signal } = stop;
        const read = await config(yaml);
        const { group, lanes } = read.topics;
        const onEvent = (event: RunEvent): void => void events.push(event);
        await using running = await start({
          log,
          pipelines: read.pipelines,
          topics: read.topics,
          group,
          lanes,
          follow,
          signal,
          clock,
          env: {},
          onEvent,
        });
        return (await running.done).failures;
      };
      const run = { events, ended: work(), stop: () => stop.abort() };
      run.ended.catch(() => undefined);
      runs.add(run);
      return run;
    },
    async values(topic) {
      const values: Readonly<Record<string, unknown>>[] = [];
      for await (const { value } of embedded.read({ topic })) values.push(parsed(value));
      return values;
    },
    async [Symbol.asyncDispose]() {
      for (const run of runs) run.stop();
      await Promise.allSettled([...runs].map(({ ended }) => ended));
      await embedded.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function parsed(value: TopicRecord['value']): Readonly<Record<string, unknown>> {
  return JSON.parse(value ?? '{}') as Readonly<Record<string, unknown>>;
}
