import type { Dispatcher } from 'undici';
import { expect, test } from 'vitest';
import { requestAllowance } from '../request-allowance.ts';
import { ok, play, said } from '../scene.fixture.ts';

/** Meets each request in turn with a reset of its connection, new or kept alive, or with an answer. The last one goes on. */
function meeting(...all: readonly ('reset' | 'stale' | 'answer')[]): Dispatcher {
  const left = [...all];
  return {
    dispatch(_: unknown, handler: Dispatcher.DispatchHandler) {
      const meets = left.length > 1 ? left.shift() : left[0];
      const controller = { abort: () => undefined } as unknown as Dispatcher.DispatchController;
      handler.onRequestStart?.(controller, { reused: meets === 'stale' });
      if (meets === 'answer') {
        handler.onResponseStart?.(controller, 200, {}, 'OK');
        handler.onResponseData?.(controller, Buffer.from('"good"'));
        handler.onResponseEnd?.(controller, {});
      } else handler.onResponseError?.(controller, Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
      return true;
    },
  } as unknown as Dispatcher;
}

test('of attempts on connections that all turn out dead, every second one counts as a failure', async () => {
  const scene = await play([], { dispatcher: meeting('stale'), retryForMs: 1_000 });
  await expect(scene.drive(scene.query(), 100)).rejects.toMatchObject({ code: 'HEADGATE_GAVE_UP' });
  expect(scene.events.map(({ retryInMs }) => retryInMs)).toEqual([0, 250, 0, 500, 0, 250, 0, undefined]);
});

test('a probe of an outage that ends without a result makes room for the next one', async () => {
  const scene = await play([], { dispatcher: meeting('reset', 'reset', 'stale', 'answer'), waitOutOutages: true });
  const answers = Promise.all([scene.query('/a'), scene.query('/b')]);
  await scene.clock.advance(0);
  expect(scene.source.gauges().outage).toBeDefined();
  await scene.clock.advance(1_000);
  expect(scene.events.map(({ outcome }) => outcome)).toEqual(['transient', 'transient', 'transient', 'ok', 'ok']);
  expect(await answers).toHaveLength(2);
});

test('a response that does not match is requested again once, with or without other failures between', async () => {
  const mismatch = said('schema-mismatch', { where: 'data: expected a list' });
  const scene = await play([mismatch, said('transient'), mismatch, ok]);
  await expect(scene.drive(scene.query(), 1_000)).rejects.toMatchObject({ code: 'HEADGATE_UNFIT_ANSWER' });
  expect(scene.server.requests).toHaveLength(3);
});

test('an allowance gets back exactly the attempts that send nothing', async () => {
  const allowance = requestAllowance({ max: 2, onUsedUp: () => undefined });
  let signs = 0;
  const signer = {
    sign() {
      if ((signs += 1) % 2 === 1) throw Object.assign(new Error('later'), { code: 'HEADGATE_LATER', retryable: true });
      return { authorization: 'Bearer t' };
    },
  };
  const scene = await play([said('transient')], { allowance, credentials: [{ name: 'a', signer }] });
  await scene.drive(scene.query(), 1_000);
  expect([scene.server.requests.length, scene.events.length, allowance.isTaken]).toEqual([2, 4, true]);
});
