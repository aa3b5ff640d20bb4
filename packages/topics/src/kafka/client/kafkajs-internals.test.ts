import { expect, it } from 'vitest';
import { assertKnownKafkajs } from './kafkajs-internals.ts';

it('only the kafkajs version with known internals is accepted, and that one is installed', () => {
  expect(() => assertKnownKafkajs()).not.toThrow();
  expect(() => assertKnownKafkajs('2.3.0')).toThrow(/kafkajs 2\.3\.0 is installed, .* internals of 2\.2\.4\./u);
});
