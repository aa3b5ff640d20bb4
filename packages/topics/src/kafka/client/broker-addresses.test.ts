import { expect, it } from 'vitest';
import { TopicLostError } from '../../topic-errors.ts';
import { answeredError } from './answered-error.ts';
import { BrokerAddresses } from './broker-addresses.ts';

/** The error that kafkajs throws after its last attempt to connect to `broker`. */
function refused(broker: string): Error {
  const cause = Object.assign(new Error(`Connection error: connect ECONNREFUSED ${broker}`), { name: 'KafkaJSConnectionError', broker });
  return new Error('The last try has failed.', { cause });
}

it('an advertised address that never responded is reported with its origin and the fix', () => {
  const addresses = new BrokerAddresses(['boot-1:9092', 'boot-2:9092']);
  addresses.answered('boot-2:9092');
  expect(addresses.failureText(refused('10.0.0.5:9092'))).toBe(
    'the brokers advertise 10.0.0.5:9092 (as reported by boot-2:9092), but no broker answers there: Connection error: connect ECONNREFUSED ' +
      '10.0.0.5:9092. If that broker is running, set its advertised.listeners to an address that this machine can reach',
  );
  addresses.answered('10.0.0.5:9092');
  expect(addresses.failureText(refused('10.0.0.5:9092'))).toBe('Connection error: connect ECONNREFUSED 10.0.0.5:9092');
});

it('neither an address that the user configured nor an error without an address is reported as advertised', () => {
  const addresses = new BrokerAddresses(['boot-1:9092']);
  expect(addresses.failureText(refused('boot-1:9092'))).toBe('Connection error: connect ECONNREFUSED boot-1:9092');
  expect(addresses.failureText(new Error('no leader'))).toBe('no leader');
});

it('an address that doesn’t respond is tried last until it responds', () => {
  const addresses = new BrokerAddresses(['one:9092', 'two:9092', 'three:9092']);
  addresses.silent('one:9092');
  expect(addresses.inOrder()).toEqual(['two:9092', 'three:9092', 'one:9092']);
  addresses.silent('two:9092');
  addresses.answered('one:9092');
  expect(addresses.inOrder()).toEqual(['one:9092', 'three:9092', 'two:9092']);
});

it('several brokers are known from the addresses of the user, or from those that responded', () => {
  const addresses = new BrokerAddresses(['boot:9092']);
  addresses.answered('boot:9092');
  expect(addresses.areSeveral).toBe(false);
  addresses.answered('10.0.0.5:9092');
  expect([addresses.areSeveral, new BrokerAddresses(['one:9092', 'two:9092']).areSeveral]).toEqual([true, true]);
});

it('names the topic that an answer is about, unless its text does', () => {
  const { failureText } = new BrokerAddresses(['one:9092']);
  expect(failureText(answeredError(19, { topic: 'followers.pages' }))).toMatch(/\(NOT_ENOUGH_REPLICAS\) for topic "followers\.pages"$/u);
  expect(failureText(answeredError(19))).toMatch(/\(NOT_ENOUGH_REPLICAS\)$/u);
  const lost = new TopicLostError({ topic: 'followers.pages' });
  expect(failureText(lost)).toBe(lost.message);
});
