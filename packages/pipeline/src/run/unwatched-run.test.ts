import { virtualClock } from '@headgate/throttle/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { catalogue } from '../testing/catalogue.fixture.ts';
import { temporaryLog } from '../testing/temporary-log.fixture.ts';
import type { RunEvent } from '../events/events.ts';
import { type Running, type StartOptions, start } from './start.ts';

const warnings: Error[] = [];
const heard = (warning: Error): void => void warnings.push(warning);
beforeEach(() => {
  warnings.length = 0;
  process.on('warning', heard);
});
afterEach(() => {
  process.off('warning', heard);
});

/** Nothing listens at this port. */
const baseUrl = 'http://127.0.0.1:1';
const missing = (): string => {
  throw new Error('no secret: hunter2');
};
const awaited = (): string => {
  throw Object.assign(new Error('Write the token into ./token.'), { code: 'HEADGATE_SECRET_AWAITED' });
};

/** Runs a pipeline that can't send a request, until `isOver`. */
async function waits(
  { token, onEvent }: { readonly token: () => string } & Pick<StartOptions, 'onEvent'>,
  isOver: (running: Running) => boolean,
  watched: (running: Running) => void = () => undefined,
): Promise<void> {
  await using place = await temporaryLog();
  const clock = virtualClock();
  const pipelines = [catalogue()({ baseUrl, token, shelves: ['a', 'b'] })];
  await using running = await start({ log: place.log, pipelines, clock, ...(onEvent && { onEvent }) });
  watched(running);
  await expect
    .poll(
      async () => {
        await clock.advance(250);
        return isOver(running);
      },
      { interval: 0 },
    )
    .toBe(true);
}

test.each([
  ['a secret whose function throws', missing, 'token: The function for the token of the bearer signer threw.'],
  ['a secret that isn’t written yet', awaited, 'token: Write the token into ./token.'],
  ['a service that refuses connections', () => 't', 'cannot connect to 127.0.0.1:1'],
])('a run without an observer warns that it waits for %s', async (_, token, reason) => {
  await waits({ token }, () => warnings.length > 0);
  expect(warnings.map(({ message }) => message)).toEqual([
    expect.stringMatching(
      /^catalogue: every attempt fails \(.*\)\. The run retries\. Pass onEvent to start, or subscribe to its events, to follow it\.$/s,
    ),
  ]);
  expect(warnings[0]?.message).toContain(reason);
  expect(warnings[0]?.message).not.toContain('hunter2');
});

test('a run with an observer leaves the words to it', async () => {
  const events: RunEvent[] = [];
  const isTold = (): boolean => events.some(({ type }) => type === 'service-unavailable');
  await waits({ token: missing, onEvent: (event) => void events.push(event) }, isTold);
  events.length = 0;
  await waits({ token: missing }, isTold, (running) => void running.events.subscribe((event) => events.push(event)));
  expect(warnings).toEqual([]);
});

test.each([missing, awaited])('the first attempt without a secret names its credential, in an event and in the snapshot', async (token) => {
  const events: RunEvent[] = [];
  let reason: string | undefined;
  await waits({ token, onEvent: (event) => void events.push(event) }, (running) => {
    reason = running.snapshot().pipelines['catalogue']?.failing?.reason;
    return reason !== undefined;
  });
  expect(events.find(({ type }) => type === 'attempt')).toMatchObject({
    credential: 'token',
    outcome: 'transient',
    reason: expect.stringMatching(/^token: /),
    retryInMs: expect.any(Number),
  });
  expect(reason).toMatch(/^token: /);
});
