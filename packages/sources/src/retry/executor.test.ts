import type { Dispatcher } from 'undici';
import { expect, test } from 'vitest';
import { requestAllowance } from '../request-allowance.ts';
import { ok, play, said } from '../scene.fixture.ts';

test('of attempts on connections that all turn out dead, every second one counts as a failure', async () => {
  const dispatcher = {
    dispatch(_: unknown, handler: Dispatcher.DispatchHandler) {
      const controller = { abort: () => undefined } as unknown as Dispatcher.DispatchController;
      handler.onRequestStart?.(controller, { reused: true });
      handler.onResponseError?.(controller, Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
      return true;
    },
  } as unknown as Dispatcher;
  const scene = await play([], { dispatcher, retryForMs: 1_000 });
  await expect(scene.drive(scene.query(), 100)).rejects.toMatchObject({ code: 'HEADGATE_GAVE_UP' });
  expect(scene.events.map(({ retryInMs }) => retryInMs)).toEqual([0, 250, 0, 500, 0, 250, 0, undefined]);
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
