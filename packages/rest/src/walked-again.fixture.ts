import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { start } from '@headgate/pipeline';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { type ApiAnswer, type ApiCall, startApi } from './api.fixture.ts';
import type { Section } from './list.fixture.ts';
import { rest } from './rest.ts';

type Given = Omit<Section, 'baseUrl'>;

/** Stops a section after two pages, and continues with another section of the same name. Returns the records in `items` and the notices. */
export async function walkedAgain(before: Given, later: Given, answer: (call: ApiCall) => ApiAnswer) {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-rest-'));
  const reached = Promise.withResolvers<void>();
  const isFirst = { now: true };
  let asked = 0;
  try {
    await using api = await startApi({
      routes: {
        'GET /items': (call) => {
          asked += 1;
          if (isFirst.now && asked > 2) {
            reached.resolve();
            return { status: 503, body: {} };
          }
          return answer(call);
        },
      },
    });
    await using log = await sqliteTopicLog({ file: join(folder, 'log.db') });
    const notices: string[] = [];
    {
      await using running = await start({ log, pipelines: [rest('api')({ baseUrl: api.url, ...before })] });
      await reached.promise;
      await running.stop();
    }
    isFirst.now = false;
    await using running = await start({ log, pipelines: [rest('api')({ baseUrl: api.url, ...later })] });
    running.events.subscribe((event) => {
      if (event.type === 'notice') notices.push(event.message);
    });
    await running.done;
    const records = (await Array.fromAsync(log.read({ topic: 'api.items' }))).map(({ key, value }) => [key, value] as const);
    return { records, notices };
  } finally {
    await rm(folder, { recursive: true, maxRetries: 3 });
  }
}
