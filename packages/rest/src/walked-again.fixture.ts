import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { start } from '@headgate/pipeline';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { type ApiAnswer, type ApiCall, startApi } from './api.fixture.ts';
import type { Section } from './list.fixture.ts';
import { rest } from './rest.ts';

type Given = Omit<Section, 'baseUrl'>;

/**
 * Works each of these sections of the same name for two pages, and the last one to its end, as one listing. Returns the records in `items` and
 * the notices of the last section.
 */
export async function walkedAgain(sections: readonly Given[], answer: (call: ApiCall) => ApiAnswer) {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-rest-'));
  let reached = Promise.withResolvers<void>();
  let isLast = false;
  let asked = 0;
  try {
    await using api = await startApi({
      routes: {
        'GET /items': (call) => {
          asked += 1;
          if (!isLast && asked > 2) {
            reached.resolve();
            return { status: 503, body: {} };
          }
          return answer(call);
        },
      },
    });
    await using log = await sqliteTopicLog({ file: join(folder, 'log.db') });
    const notices: string[] = [];
    for (const [i, section] of sections.entries()) {
      [reached, isLast, asked] = [Promise.withResolvers<void>(), i === sections.length - 1, 0];
      await using running = await start({ log, pipelines: [rest('api')({ baseUrl: api.url, ...section })] });
      if (isLast) {
        running.events.subscribe((event) => {
          if (event.type === 'notice') notices.push(event.message);
        });
        await running.done;
      } else {
        await reached.promise;
        await running.stop();
      }
    }
    const records = (await Array.fromAsync(log.read({ topic: 'api.items' }))).map(({ key, value }) => [key, value] as const);
    return { records, notices };
  } finally {
    await rm(folder, { recursive: true, maxRetries: 3 });
  }
}
