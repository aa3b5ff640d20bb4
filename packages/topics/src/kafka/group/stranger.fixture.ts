import { writeSync } from 'node:fs';
import { letQueuesIdle } from '../faults/idle-queues.fixture.ts';
import { quietKafka } from './quiet-kafka.fixture.ts';

letQueuesIdle();
/** A consumer of another kind: it joins the group with kafkajs's own assigner, prints `joined`, and stays until it is killed. */
const [broker = '', group = '', topic = '', sessionTimeout = ''] = process.argv.slice(2);
const consumer = quietKafka([broker]).consumer({ groupId: group, sessionTimeout: Number(sessionTimeout), heartbeatInterval: 500 });
consumer.on(consumer.events.GROUP_JOIN, () => writeSync(1, 'joined\n'));
await consumer.connect();
await consumer.subscribe({ topic });
await consumer.run({ eachMessage: () => Promise.resolve() });
