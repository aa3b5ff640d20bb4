import { startBooks } from '@headgate/sandbox';
import { describe, expect, it } from 'vitest';
import { committed } from './committed.fixture.ts';
import { BECAUSE, WHY_NOT, kafkaPlace } from './kafka-place.fixture.ts';
import { sendPlainly } from './kafkajs.fixture.ts';

const TOPIC = 'followers.requests';
/** Bytes in the frame that serializers of a schema registry write: a zero, a schema ID of four bytes, and the data. */
const FRAMED = Buffer.from([0, 0, 0, 0, 1, 0xff, 0x80, 0x41]);
const BASE64 = FRAMED.toString('base64');

describe.skipIf(WHY_NOT !== undefined)(`binary requests of another client${BECAUSE}`, () => {
  it('become dead letters that name topic, offset and field, and block nothing; binary keys and headers of a valid request do no harm', async () => {
    const users = { alpha: { followers: 3 }, beta: { followers: 2 }, gamma: { followers: 1 } };
    await using books = await startBooks();
    const more = `books: { plan: premium, baseUrl: "${books.url}", key: "\${KEY}" }\n`;
    await using place = await kafkaPlace({ users, listed: [], more });
    const { work } = place;
    expect((await work.headgate('enqueue', 'followers', 'alpha')).code).toBe(0);
    const headers = { id: FRAMED };
    await sendPlainly(place.broker.brokers, TOPIC, [
      { key: 'framed', value: FRAMED },
      { key: FRAMED, value: '{"screenName":"beta"}' },
      { key: '@gamma', value: '{"screenName":"gamma"}', headers },
    ]);
    await sendPlainly(place.broker.brokers, 'books.requests', [{ key: 'framed', value: FRAMED }]);
    const plan = await work.headgate('plan', '--json');
    expect([plan.code, JSON.parse(plan.stdout)]).toMatchObject([
      0,
      { pipelines: [{ walks: [{ key: '@alpha' }, { key: '@beta' }, { key: '@gamma' }] }, {}] },
    ]);

    const run = await work.headgate('run');
    expect([run.code, run.stderr]).toEqual([1, expect.stringMatching(/3 jobs[^]*dead letter[^]*dead letter/u)]);
    for (const service of ['followers', 'books']) {
      const deadLetters = (await committed(place.broker.brokers, `${service}.dead-letters`)).map(({ key, value }) => ({
        key,
        value: JSON.parse(value ?? '') as unknown,
      }));
      expect(deadLetters).toMatchObject([
        { key: 'framed', value: { request: null, requestBase64: BASE64, error: { code: 'HEADGATE_INVALID_RECORD' } } },
      ]);
      const where = `topic "${service}.requests", partition 0, contains bytes that aren't UTF-8 text in its value (8 bytes: 00 00 00 00 01 ff 80 41)`;
      expect(deadLetters[0]?.value).toMatchObject({ error: { message: expect.stringContaining(where) as string } });
    }
    expect((await work.headgate('run')).code).toBe(0);

    const read = await work.headgate('read', TOPIC, '--json');
    expect([read.code, read.stderr]).toEqual([0, '']);
    const lines = read.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    expect(lines).toMatchObject([
      { value: { screenName: 'alpha' } },
      { key: 'framed', headers: {}, value_base64: BASE64 },
      { key_base64: BASE64, value: { screenName: 'beta' } },
      { key: '@gamma', headers_base64: { id: BASE64 }, value: { screenName: 'gamma' } },
    ]);

    const replay = await work.headgate('replay', 'followers.dead-letters');
    expect([replay.code, replay.stderr]).toEqual([0, expect.stringMatching(/framed: Its job is binary/u)]);
  });
});
