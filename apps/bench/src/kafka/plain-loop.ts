import { Agent, request } from 'undici';
import { PATH, query, type WirePage } from '../walk/walker.ts';
import { CRAWL, type Job, USER } from './job.ts';
import { plainKafka, type PlainMessage } from './plain-kafka.ts';

/** The bare loop, as a program: `undici.request`, `JSON.parse`, one `send` of kafkajs a page, without transactions or checkpoints. */
const { shape, codec, origin, brokers, topic } = JSON.parse(process.argv[2] ?? '') as Job;

interface WholePage extends WirePage {
  readonly previous_cursor_str: string;
}

const { kafka, compressions } = plainKafka(brokers);
const producer = kafka.producer();
await producer.connect();
const dispatcher = new Agent({ headersTimeout: 0 });
for (let cursor = '-1', page = 1; cursor !== '0'; page += 1) {
  const url = `${origin}${PATH}?${new URLSearchParams(query(cursor)).toString()}`;
  const { body } = await request(url, { dispatcher, headers: { authorization: 'Bearer token' } });
  const answer = JSON.parse(await body.text()) as WholePage;
  await producer.send({
    topic,
    messages: shape === 'pages' ? [wholePage(answer, cursor, page)] : eachId(answer, page),
    compression: compressions[codec],
  });
  cursor = answer.next_cursor_str;
}
await producer.disconnect();
await dispatcher.close();

function wholePage(
  { ids, next_cursor_str: nextCursor, previous_cursor_str: previousCursor }: WholePage,
  cursor: string,
  page: number,
): PlainMessage {
  return { key: USER, value: JSON.stringify({ user: USER, crawl: CRAWL, page, cursor, nextCursor, previousCursor, ids }) };
}

function eachId({ ids }: WholePage, page: number): PlainMessage[] {
  return ids.map((id) => ({ key: USER, value: JSON.stringify({ user: USER, crawl: CRAWL, page, id }) }));
}
