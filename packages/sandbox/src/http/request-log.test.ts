import { expect, test } from 'vitest';

import { createRequestLog, shownQuery } from './request-log.ts';
import type { ServedRequest } from './request-log.ts';

function served(number: number, isbns?: readonly string[]): ServedRequest {
  return { number, at: 0, method: 'GET', path: '/', query: {}, status: 200, ...(isbns === undefined ? {} : { isbns }) };
}

test('the newest are kept, the oldest forgotten', () => {
  const log = createRequestLog({ maxRequests: 20 });
  for (let number = 1; number <= 1000; number++) {
    log.add(served(number));
    expect(log.all().at(-1)?.number).toBe(number);
    expect(log.all().length).toBe(Math.min(number, 20));
  }
  expect(log.all()[0]?.number).toBe(981);
});

test('long batches are forgotten sooner', () => {
  const log = createRequestLog({ maxIsbns: 10 });
  for (let number = 1; number <= 5; number++) log.add(served(number, ['1', '2', '3', '4']));
  expect(log.all().map(({ number }) => number)).toEqual([4, 5]);
});

test('what looks like a secret is not kept', () => {
  const query = new URLSearchParams('Authorization=s&oauth_token=s&api_key=s&access_token=s&consumer_secret=s&cursor=-1');
  expect(Object.entries(shownQuery(query)).filter(([, value]) => value !== '[secret]')).toEqual([['cursor', '-1']]);
});
