import { LaneHeldError } from '@headgate/topics';
import { expect, test } from 'vitest';
import { failureText } from './failure-text.ts';

test('a log that another run works on is called so', () => {
  const held = new LaneHeldError({ lane: 'headgate.books.requests.0', pid: 12, sinceMs: Date.UTC(2026, 0, 1) });
  expect(failureText(held)).toMatch(/^Another run \(process 12, since \d\d:\d\d:\d\d\) is using this log\. Stop it, or wait/u);
  expect(failureText(new LaneHeldError({ lane: 'l', pid: null, sinceMs: null }))).toMatch(/^Another process is using this log\./u);
});
