import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TopicLog } from '../../topic-log.ts';
import { kafkaTopicLog } from '../index.ts';

/** Closes a log during the work that `order` names, prints `closed`, and `settled` when all calls have ended. */
const [order = '', waitMs = '0', broker = '', pid = '', lane = '', state = '', topic = ''] = process.argv.slice(2);
const spec = { name: lane, state: { topic: state, partition: 0 }, writes: [{ topic, partition: 0 }] };
const record = { topic, partition: 0, key: 'k', value: 'v' };

function read(log: TopicLog, follow: boolean): Promise<unknown> {
  return log.read({ topic, follow })[Symbol.asyncIterator]().next();
}

/** Each function starts its work, and resolves to the calls in flight when it's time to close the log. */
const orders: Readonly<Record<string, (log: TopicLog) => Promise<readonly Promise<unknown>[]>>> = {
  'first fetches of several readers': async (log) =>
    [await Promise.all(Array.from({ length: 6 }, () => read(log, false))), read(log, true)].map((work) => Promise.resolve(work)),
  'opening a lane': async (log) => [log.openLane(spec)],
  'joining a group': async (log) => {
    const [onAssigned, onUncertain, onFailed] = [() => undefined, () => undefined, () => undefined];
    return [log.joinGroup({ group: lane, topics: [topic], agreement: 'same', onAssigned, onUncertain, onFailed })];
  },
  appending: async (log) => [log.append([record]), log.append([record])],
  'all of it, and the broker freezes': async (log) => {
    const writer = await log.openLane(spec);
    const reading = read(log, true);
    process.kill(Number(pid), 'SIGSTOP');
    return [reading, writer.transaction((tx) => tx.append([record])), log.append([record]), log.listTopics(), log.openLane(spec)];
  },
};

const log = await kafkaTopicLog({ brokers: [broker], replication: 1 });
const works = (await orders[order]?.(log)) ?? [];
for (const work of works) work.catch(() => undefined);
await sleep(Number(waitMs));
await log.close();
writeSync(1, `closed ${Date.now()}\n`);
await Promise.allSettled(works);
writeSync(1, 'settled\n');
