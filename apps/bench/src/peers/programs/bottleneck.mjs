// Writes followers into Kafka with undici, bottleneck and kafkajs. Each page is sent to Kafka before the next one is requested.
import Bottleneck from 'bottleneck';
import { Kafka, logLevel } from 'kafkajs';
import { request } from 'undici';

const { shape, origin, brokers, topic } = JSON.parse(process.argv[2]);
const REQUESTS = 1_000_000;

const limiter = new Bottleneck({ reservoir: REQUESTS, reservoirRefreshAmount: REQUESTS, reservoirRefreshInterval: 15 * 60_000 });
const producer = new Kafka({ clientId: 'followers', brokers, logLevel: logLevel.ERROR }).producer();
await producer.connect();
for (let cursor = '-1'; cursor !== '0';) {
  const query = new URLSearchParams({ screen_name: 'alpha', cursor, count: '5000', stringify_ids: 'true' });
  const page = await limiter.schedule(async () => {
    const { body } = await request(`${origin}/1.1/followers/ids.json?${query}`, { headers: { authorization: 'Bearer token' } });
    return body.json();
  });
  const messages = shape === 'pages' ? [{ key: 'alpha', value: JSON.stringify(page) }] : page.ids.map((id) => ({ value: id }));
  await producer.send({ topic, messages });
  cursor = page.next_cursor_str;
}
await producer.disconnect();
await limiter.disconnect();
