import { expect, test } from 'vitest';
import { eventWords } from './event-words.ts';
import type { RunEvent } from './run-event.ts';

function request(subject: string, reason: string, more: { readonly retryInMs?: number } = {}): RunEvent {
  return { type: 'request', service: 'followers', credential: 'app', outcome: 'transient', subject, reason, status: 503, ...more };
}

test('a line about a request names once whom it is about', () => {
  expect(eventWords(request('@u50', '@u50: gave up after 2 tries over 4 s: the service failed (503). Ask again later.'))).toBe(
    '@u50: gave up after 2 tries over 4 s: the service failed (503). Ask again later.',
  );
  expect(eventWords(request('@u50', 'the service failed (503)', { retryInMs: 1_000 }))).toMatch(
    /^@u50: the service failed \(503\), again in 1/,
  );
  // Others that the reason names stay.
  expect(eventWords(request('12', 'app: its token is invalid'))).toBe('12: app: its token is invalid');
  expect(eventWords(request('12', '123: is another'))).toBe('12: 123: is another');
});
