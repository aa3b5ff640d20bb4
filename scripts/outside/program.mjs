// A user's program: the sandbox, a source, and pages that are written with their cursors into the embedded log. Prints how many IDs
// arrived, and the last cursor.
import { bearer } from '@headgate/auth';
import { idsOf } from '@headgate/operators';
import { startFollowers } from '@headgate/sandbox';
import { followers } from '@headgate/sources/followers';
import { limiter, rateBudget } from '@headgate/throttle';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { rmSync } from 'node:fs';
import process from 'node:process';

const [, , file] = process.argv;
const sandbox = await startFollowers({ users: { alpha: { followers: 12_345 } } });
const { run } = limiter({ budgets: [rateBudget({ limit: 5, windowMs: 1_000 })] });
await run(() => fetch(sandbox.url));

const api = followers({ baseUrl: sandbox.url, credentials: [{ name: 'app', signer: bearer('token') }] });
const log = await sqliteTopicLog({ file });
await log.createTopics([
  { name: 'ids', partitions: 1 },
  { name: 'state', partitions: 1, compacted: true },
]);
const lane = await log.openLane({ name: 'ids.0', state: { topic: 'state', partition: 0 } });
for await (const page of api.pages({ screenName: 'alpha' })) {
  await lane.transaction((tx) => {
    tx.append(idsOf(page).map(({ id }) => ({ topic: 'ids', key: id, value: id })));
    tx.checkpoint('cursor', page.nextCursor);
  });
}

const ids = new Set();
for await (const { value } of log.read({ topic: 'ids' })) {
  ids.add(value);
  if (ids.size === 12_345) break;
}
process.stdout.write(`${ids.size} ids, ${lane.state.get('cursor')} left\n`);
await lane.close();
await log.close();
await api.close();
await sandbox.close();
rmSync(file);
