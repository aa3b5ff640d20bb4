// Writes followers into Kafka with twitter-api-v2 and kafkajs, as their READMEs show. Each page is sent before the next one is requested.
import { Agent } from 'node:http';
import { Kafka, logLevel } from 'kafkajs';
import { TwitterApi } from 'twitter-api-v2';

const { shape, origin, brokers, topic } = JSON.parse(process.argv[2]);

const { v1 } = new TwitterApi('token', { httpAgent: new Agent({ keepAlive: true }) });
v1.setPrefix(`${origin}/1.1/`);
const producer = new Kafka({ clientId: 'followers', brokers, logLevel: logLevel.ERROR }).producer();
await producer.connect();
for (let cursor = '-1'; cursor !== '0';) {
  const page = await v1.get('followers/ids.json', { screen_name: 'alpha', cursor, count: 5000, stringify_ids: true });
  const messages = shape === 'pages' ? [{ key: 'alpha', value: JSON.stringify(page) }] : page.ids.map((id) => ({ value: id }));
  await producer.send({ topic, messages });
  cursor = page.next_cursor_str;
}
await producer.disconnect();
