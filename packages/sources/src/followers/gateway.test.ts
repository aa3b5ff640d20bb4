import { bearer } from '@headgate/auth';
import { virtualClock } from '@headgate/throttle/testing';
import { toArray } from 'rxjs';
import type { Dispatcher } from 'undici';
import { expect, test } from 'vitest';
import { followers } from './followers.ts';

const PAGE = '{"ids":[1,2],"next_cursor":0,"previous_cursor":0}';
const HOUR_MS = 3_600_000;

test.each([
  [403, 'text/html', '<!DOCTYPE html><title>Prove that you are human</title>'],
  [404, 'text/html', '<h1>Not Found</h1>'],
  [200, 'text/html', '<title>Sign in to this network</title>'],
])('a gateway that answers %s (%s) for the service is an outage: no user pays for it', async (status, type, body) => {
  const clock = virtualClock();
  let isUp = false;
  let requests = 0;
  const dispatcher = {
    dispatch(_: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) {
      requests += 1;
      const controller = { abort: () => undefined } as unknown as Dispatcher.DispatchController;
      handler.onRequestStart?.(controller, null);
      clock.schedule(20, () => {
        handler.onResponseStart?.(controller, isUp ? 200 : status, { 'content-type': isUp ? 'application/json' : type }, '');
        handler.onResponseData?.(controller, Buffer.from(isUp ? PAGE : body));
        handler.onResponseEnd?.(controller, {});
      });
      return true;
    },
  } as unknown as Dispatcher;
  await using api = followers({
    baseUrl: 'http://service.invalid',
    credentials: [{ name: 'app', signer: bearer('token') }],
    limit: { requests: 15, windowMs: 1_000 },
    retryForMs: 60_000,
    waitOutOutages: true,
    env: {},
    clock,
    dispatcher,
    random: () => 0.5,
  });
  const ended: unknown[] = [];
  for (let i = 0; i < 200; i += 1) {
    api
      .pages({ screenName: `user${i}` })
      .pipe(toArray())
      .subscribe({ next: (pages) => ended.push(pages.length), error: (error: unknown) => ended.push(error) });
  }
  await clock.advance(HOUR_MS);
  expect(ended).toEqual([]);
  expect(requests).toBeLessThan(15 + 10 + HOUR_MS / 15_000);
  expect(api.gauges().outage).toBeDefined();
  isUp = true;
  await clock.advance(60_000);
  expect(ended).toEqual(Array.from({ length: 200 }, () => 1));
});
