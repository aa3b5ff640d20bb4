import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { credential, MINUTE_MS, ok, play, said, type Scene } from './scene.fixture.ts';
import type { Respond } from './testing/scripted-server.ts';
import { whole } from './testing/responses.ts';

/** Each shop has its own token: `/berlin/1` is sent by `berlin`. */
const ofShops = {
  items: () => 1,
  itemsOf: () => 1,
  credentialsOf: (path: string): readonly string[] => (path.startsWith('/any') ? ['berlin', 'paris'] : [path.split('/')[1] ?? '']),
};
const credentials = ['berlin', 'paris'].map(credential);
const limit = { requests: 1, windowMs: MINUTE_MS };

function carriers({ events }: Scene): readonly string[] {
  return events.map(({ subject, credential: by }) => `${subject} by ${by}`);
}

test('a request waits for its own credential, and holds nobody back who waits for another', async () => {
  const scene = await play([], { credentials, limit }, ofShops);
  expect(scene.source.credentialsOf?.('/any/1')).toEqual(['berlin', 'paris']);
  await scene.query('/berlin/1');
  const waiting = scene.query('/berlin/2');
  await scene.query('/paris/1');
  await scene.clock.settle();
  const { queries, budgets } = scene.source.gauges();
  expect(queries).toMatchObject([
    { subject: '/berlin/2', credentials: ['berlin'], state: 'queued', for: 'budget', until: budgets[0]?.freeAt },
  ]);
  await scene.drive(waiting, MINUTE_MS / 4);
  expect(carriers(scene)).toEqual(['/berlin/1 by berlin', '/paris/1 by paris', '/berlin/2 by berlin']);
});

test('a request that waits for the other requests of its credential says so', async () => {
  const held: (() => void)[] = [];
  const hold: Respond = (request, response) => void held.push(() => ok(request, response));
  const scene = await play([], { credentials, concurrency: 1, otherwise: hold }, ofShops);
  const first = scene.query('/berlin/1');
  await scene.requests(1);
  const second = scene.query('/berlin/2');
  await turn();
  expect(scene.source.gauges().queries).toMatchObject([
    { subject: '/berlin/2', state: 'queued', for: 'concurrency' },
    { subject: '/berlin/1', state: 'requesting' },
  ]);
  for (const answer of held.splice(0)) answer();
  await scene.requests(2);
  for (const answer of held) answer();
  await Promise.all([first, second]);
});

test.each([
  {
    what: 'names an unknown one',
    path: '/rome/1',
    message:
      '/rome/1: there is no credential "rome" to send this request. The toy source has berlin, paris. Add it to its credentials, or fix credentialsOf.',
  },
  {
    what: 'names an unknown one beside others',
    path: '/mixed/1',
    message:
      '/mixed/1: there is no credential "rome" to send this request. The toy source has berlin, paris. Add it to its credentials, or fix credentialsOf.',
  },
  {
    what: 'names none',
    path: '/none/1',
    message: '/none/1: no credential may send this request: credentialsOf of the toy source returned none.',
  },
])('a request whose credentialsOf $what ends at once, and only this one', async ({ path, message }) => {
  const named: Readonly<Record<string, readonly string[]>> = { '/mixed/1': ['berlin', 'rome'], '/none/1': [] };
  const scene = await play([], { credentials }, { ...ofShops, credentialsOf: (of) => named[of] ?? ofShops.credentialsOf(of) });
  const error = { code: 'HEADGATE_NO_CREDENTIAL', retryable: false, endsSource: false, subject: path, message };
  await expect(scene.query(path)).rejects.toMatchObject(error);
  expect(() => scene.source.credentialsOf?.(path)).toThrow(message);
  await scene.query('/paris/1');
  expect(carriers(scene)).toEqual(['/paris/1 by paris']);
});

test('a credentialsOf that returns a promise is a fault of the definition', async () => {
  const late: () => readonly string[] = () => Promise.resolve(['berlin']) as never;
  const scene = await play([], { credentials }, { ...ofShops, credentialsOf: late });
  const words = 'TypeError: it returned a promise, and must return synchronously';
  const message = `/x: credentialsOf of the toy source threw ${words}. Fix the definition of the source.`;
  await expect(scene.query('/x')).rejects.toMatchObject({ code: 'HEADGATE_DEFINITION', message });
});

test('requests of a refused credential end with its reason, those in the queue and later ones, and others continue', async () => {
  const scene = await play([said('unauthorized')], { credentials, concurrency: 1 }, ofShops);
  const message = "/berlin/1: no credential is left to send this request: berlin can't be used any more. toy";
  const all = ['/berlin/1', '/berlin/2', '/any/1'].map((path) => scene.query(path));
  const [first, second, any] = await Promise.allSettled(all);
  expect(first).toMatchObject({ reason: { code: 'HEADGATE_NO_CREDENTIAL', endsSource: false, message, cause: { code: 'HEADGATE_TOY' } } });
  expect(second).toMatchObject({ reason: { code: 'HEADGATE_NO_CREDENTIAL' } });
  expect(any).toMatchObject({ status: 'fulfilled' });
  await expect(scene.query('/berlin/3')).rejects.toMatchObject({ code: 'HEADGATE_NO_CREDENTIAL' });
  await scene.query('/paris/1');
  expect(new Set(carriers(scene))).toEqual(new Set(['/berlin/1 by berlin', '/any/1 by paris', '/paris/1 by paris']));
});

test('when the last credential of all is refused, its error ends the source', async () => {
  const scene = await play([], { credentials, otherwise: said('unauthorized') }, ofShops);
  await expect(scene.query('/berlin/1')).rejects.toMatchObject({ code: 'HEADGATE_NO_CREDENTIAL' });
  await expect(scene.query('/paris/1')).rejects.toMatchObject({ code: 'HEADGATE_TOY', endsSource: true });
  await expect(scene.query('/berlin/2')).rejects.toMatchObject({ code: 'HEADGATE_TOY', endsSource: true });
});

test('a request costs too much only for its own credential', async () => {
  const large = { ...credential('large'), budgets: { rate: { requests: 200, windowMs: MINUTE_MS } } };
  const scene = await play([], { credentials: [...credentials, large] }, { ...ofShops, credentialsOf: () => ['paris'] });
  const message =
    '/costly: the request costs 101 of the budget rate, but that allows 100 per 60000 ms (paris). Request less at once, or raise the limit.';
  await expect(scene.query('/costly')).rejects.toMatchObject({ code: 'HEADGATE_OVER_BUDGET', message });
});

test('a credential whose requests fail while others get responses is given up on: its requests end, and nobody hangs', async () => {
  const byShop: Respond = (request, response) =>
    (request.url?.startsWith('/berlin') === true ? whole('"down"', 503) : ok)(request, response);
  const scene = await play(
    [],
    { credentials, waitOutOutages: true, retryForMs: MINUTE_MS, otherwise: byShop },
    {
      ...ofShops,
      classify: ({ status }) => (status === 200 ? { kind: 'ok', value: 'good' } : { kind: 'transient', reason: 'down' }),
    },
  );
  let isOver = false;
  const ended = scene.query('/berlin/1').catch((error: unknown) => {
    isOver = true;
    return error;
  });
  for (let i = 0; i < 100 && !isOver; i += 1) {
    (await scene.query(`/paris/${i}`)).credit.release();
    await scene.clock.advance(5_000);
  }
  expect(await ended).toMatchObject({ code: 'HEADGATE_GAVE_UP', subject: '/berlin/1' });
});
