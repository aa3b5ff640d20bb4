import { expect, it } from 'vitest';
import { isTransient } from '../kafka-failure.ts';

it('kafkajs stumbling over an answer that did not come is no mistake of ours; ours are', () => {
  const inKafkaJs = '    at Object.listTopics (/app/node_modules/kafkajs/src/admin/index.js:103:13)';
  const inOurs = '    at listTopics (/app/src/kafka-topics.ts:9:1)';
  const thrown = (...frames: readonly string[]): TypeError =>
    Object.assign(new TypeError('it is null'), { stack: ['TypeError: it is null', ...frames].join('\n') });
  expect(isTransient(thrown(inKafkaJs, inOurs))).toBe(true);
  expect(isTransient(thrown(inOurs, inKafkaJs))).toBe(false);
});
