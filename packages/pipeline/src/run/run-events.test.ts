import { virtualClock } from '@headgate/throttle/testing';
import { expect, it } from 'vitest';
import type { RunEvent } from '../events/events.ts';
import { catalogue } from '../testing/catalogue.fixture.ts';
import { RunEvents } from './run-events.ts';

it('passes on every refusal of a service, and explains them once', () => {
  const pipeline = catalogue()({ baseUrl: 'https://shelves.example', token: 'secret-token', shelves: ['a'] });
  const seen: RunEvent[] = [];
  const events = new RunEvents(virtualClock(), [pipeline], (event) => void seen.push(event));
  for (let i = 0; i < 20; i += 1) {
    events.emit({ type: 'attempt', pipeline: 'catalogue', credential: 'app', subject: 'a', outcome: 'rate-limited', durationMs: 1 });
  }
  expect(seen.filter(({ type }) => type === 'attempt')).toHaveLength(20);
  expect(seen.filter(({ type }) => type === 'notice')).toEqual([
    { type: 'notice', level: 'warn', message: expect.stringContaining('catalogue: the service refused 5 of 5 requests') as string },
  ]);
});
