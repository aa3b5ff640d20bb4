import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { MissingRightError } from '../../missing-right-error.ts';
import { TopicLostError } from '../../topic-errors.ts';
import { answeredError } from './answered-error.ts';
import { ConnectionError } from './connection-error.ts';
import { driverError, failureText, kindOf, passes, refusal } from './driver-errors.ts';

const require = createRequire(import.meta.url);
const { errorCodes } = require('kafkajs/src/protocol/error') as {
  readonly errorCodes: readonly { readonly type: string; readonly code: number; readonly retriable: boolean }[];
};

const code = (type: string): number => errorCodes.find((each) => each.type === type)?.code ?? Number.NaN;
const answer = (type: string): Error => answeredError(code(type));

describe('an error response of a broker', () => {
  it.each([
    { code: 89, kind: 'later' },
    { code: 90, kind: 'fenced' },
    { code: 100, kind: 'elsewhere' },
    { code: 105, kind: 'final' },
    { code: 120, kind: 'later' },
    { code: 32_000, kind: 'final' },
  ])('is recognized by its code if kafkajs has no name for it: $code', ({ code: each, kind }) => {
    expect(kindOf(answeredError(each))).toBe(kind);
  });

  it('without a coordinator says that the brokers respond, because a new cluster needs a moment', () => {
    expect(failureText(answer('GROUP_COORDINATOR_NOT_AVAILABLE'))).toMatch(/^the brokers respond, but they have no coordinator /u);
  });

  it('is final if kafkajs gives up, except for errors that a new producer, member or request resolves', () => {
    const verdicts = Map.groupBy(
      errorCodes.filter(({ retriable }) => !retriable),
      ({ code: each }) => passes(answeredError(each)),
    );
    const types = (isPassing: boolean): string[] => (verdicts.get(isPassing) ?? []).map(({ type }) => type);
    const rights = ['TOPIC', 'GROUP', 'CLUSTER', 'TRANSACTIONAL_ID'].map((what) => `${what}_AUTHORIZATION_FAILED`);
    expect(types(true)).toEqual(expect.arrayContaining(['INVALID_PRODUCER_EPOCH', 'UNKNOWN_MEMBER_ID', 'TOPIC_ALREADY_EXISTS']));
    expect(types(false)).toEqual(
      expect.arrayContaining([...rights, 'INVALID_GROUP_ID', 'INVALID_CONFIG', 'INVALID_REQUEST', 'SECURITY_DISABLED']),
    );
    expect(types(false).length).toBeGreaterThan(types(true).length);
  });

  it('is temporary if it is of a newer Kafka and unknown to kafkajs', () => expect(passes(answeredError(89))).toBe(true));

  it.each([
    { type: 'INVALID_GROUP_ID', says: /Choose another name for the group/u },
    { type: 'INVALID_CONFIG', says: /INVALID_CONFIG\)\. The broker logs/u },
    {
      type: 'INVALID_TRANSACTION_TIMEOUT',
      says: /refused the request: the transaction timeout exceeds the maximum of the brokers \(INVALID_TRANSACTION_TIMEOUT\)\. Raise transaction\.max\.timeout\.ms on the brokers to at least that timeout \(60000 by default\)\.$/u,
    },
    { type: 'SECURITY_DISABLED', says: /SECURITY_DISABLED/u },
  ])('keeps its message, however deep it is nested: $type', ({ type, says }) => {
    const cause = answer(type);
    for (const error of [cause, wrapped(cause), new Error('a transaction failed', { cause: wrapped(cause) })]) {
      expect(driverError(error)).toMatchObject({ code: 'HEADGATE_BROKERS_REFUSE', message: expect.stringMatching(says), retryable: false });
      expect(refusal(error)).toMatch(says);
    }
  });

  it('says what to do if it is waited out, but may last', () => {
    expect(failureText(wrapped(answer('CONCURRENT_TRANSACTIONS')))).toBe(
      "a broker hasn't ended a transaction yet; if this lasts, run check and see the broker logs (CONCURRENT_TRANSACTIONS)",
    );
  });

  it('names the topic that it is about', () => {
    const cause = Object.assign(answer('INVALID_TIMESTAMP'), { topic: 'followers.pages' });
    const message =
      /^The brokers refused the request for topic "followers\.pages": .* \(INVALID_TIMESTAMP\)\. .*message\.timestamp\.before\.max\.ms/u;
    expect(driverError(wrapped(cause))).toMatchObject({ message: expect.stringMatching(message) });
  });

  it('counts as the worst of several', () => {
    const errors = ['NOT_CONTROLLER', 'POLICY_VIOLATION'].map((type) => Object.assign(answer(type), { topic: type }));
    expect(passes(Object.assign(new Error('topics'), { errors }))).toBe(false);
  });
});

describe('an error that isn’t a response', () => {
  it('is temporary if a new connection may help', () => {
    for (const error of [new ConnectionError('broker:9092', new Error('gone')), new Error('No answer within 7 s')])
      expect(passes(error)).toBe(true);
  });

  it('is final otherwise, and our own errors stay unchanged', () => {
    const lost = new TopicLostError({ topic: 'state' });
    expect(passes(lost)).toBe(false);
    expect(driverError(wrapped(lost))).toBe(lost);
    expect(passes('text')).toBe(false);
    const tls = Object.assign(new Error('bad certificate'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    expect(passes(new ConnectionError('broker:9092', wrapped(tls)))).toBe(false);
  });

  it('is neither temporary nor final if a right is missing', () => {
    const missing = new MissingRightError([{ operation: 'Write', kind: 'topic', name: 'pages' }]);
    expect(passes(wrapped(missing))).toBe(false);
    expect(driverError(wrapped(missing))).toBe(missing);
  });

  it('is final if it is a TypeError, unless a connection failed with it, as when a token provider can’t be reached', () => {
    const error = new TypeError('fetch failed');
    expect([passes(error), passes(wrapped(error))]).toEqual([false, false]);
    expect(passes(wrapped(new ConnectionError('broker:9092', error)))).toBe(true);
  });
});

function wrapped(cause: Error): Error {
  return new Error('wrapped', { cause });
}
