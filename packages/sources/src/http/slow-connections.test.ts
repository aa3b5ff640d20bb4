import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { creditPool } from '@headgate/throttle';
import { virtualClock } from '@headgate/throttle/testing';
import fc from 'fast-check';
import { type Dispatcher, ProxyAgent } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { defineSource } from '../define-source.ts';
import { credential, MINUTE_MS, ok, play, said, toy } from '../scene.fixture.ts';

const HOUR_MS = 60 * MINUTE_MS;
const LATENCY_MS = 20;

/** The response to a request, and what it forbids: nothing, its credential for a time or for ever, or all but one probe. */
const answers = {
  ok: { status: 200, body: '"good"' },
  limited: { status: 429, body: JSON.stringify({ kind: 'rate-limited', retryInMs: 4_000 }), quietMs: 4_000 },
  ambiguous: { status: 404, body: JSON.stringify({ kind: 'ambiguous' }) },
  refused: { status: 401, body: JSON.stringify({ kind: 'unauthorized' }), quietMs: Infinity },
  down: { status: 503, body: JSON.stringify({ kind: 'transient', retryInMs: 3_000 }) },
} as const;

test('nothing is sent while its credential or its service is on hold, however long its connection takes', async () => {
  const kinds = fc.constantFrom<keyof typeof answers>('ok', 'ok', 'limited', 'ambiguous', 'refused', 'down', 'down');
  await fc.assert(
    fc.asyncProperty(
      fc.array(kinds, { maxLength: 15 }),
      fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 20 }),
      async (script, delays) => {
        const clock = virtualClock();
        const quietUntil = new Map<string, number>();
        let connections = 0;
        let sent = 0;
        let probing = 0;
        const dispatcher = {
          dispatch({ headers }: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) {
            const name = JSON.stringify(headers).includes('token-of-a') ? 'a' : 'b';
            clock.schedule(delays[connections++ % delays.length] ?? 0, () => {
              let isAborted = false;
              handler.onRequestStart?.({ abort: () => (isAborted = true) } as unknown as Dispatcher.DispatchController, null);
              if (isAborted) return;
              expect(quietUntil.get(name) ?? 0).toBeLessThanOrEqual(clock.monotonicMs());
              const isProbe = source.gauges().outage !== undefined;
              if (isProbe) probing += 1;
              expect(probing).toBeLessThanOrEqual(1);
              // The last credential stays.
              const kind = script[sent++] ?? 'ok';
              const answer = answers[kind === 'refused' && quietUntil.has('refused') ? 'ok' : kind];
              clock.schedule(LATENCY_MS, () => {
                if (isProbe) probing -= 1;
                if ('quietMs' in answer) quietUntil.set(name, Math.max(quietUntil.get(name) ?? 0, clock.monotonicMs() + answer.quietMs));
                if (answer === answers.refused) quietUntil.set('refused', Infinity);
                const controller = { abort: () => undefined } as unknown as Dispatcher.DispatchController;
                handler.onResponseStart?.(controller, answer.status, {}, '');
                handler.onResponseData?.(controller, Buffer.from(answer.body));
                handler.onResponseEnd?.(controller, {});
              });
            });
            return true;
          },
        } as unknown as Dispatcher;
        const source = defineSource<string, string>(toy([]))({
          baseUrl: 'http://service.invalid',
          credentials: [credential('a'), credential('b')],
          limit: { requests: 10, windowMs: 1_000 },
          env: {},
          clock,
          dispatcher,
          random: () => 0.5,
          maxDelayMs: 0,
          retryForMs: 24 * HOUR_MS,
          waitOutOutages: true,
        });
        const credits = creditPool({ max: 1_000 });
        const ended = Array.from({ length: 25 }, (_, i) =>
          source.query(`/${i}`, { credits }).then(
            ({ credit }) => credit.release(),
            (error: unknown) => expect(error).toMatchObject({ code: 'HEADGATE_TOY' }),
          ),
        );
        await clock.advance(HOUR_MS);
        await Promise.all(ended);
        expect(credits.outstanding).toBe(0);
      },
    ),
    { numRuns: 100 },
  );
});

test('a 429 stops the requests that wait for the tunnel of a proxy, and costs them nothing', async () => {
  const waiting: (() => void)[] = [];
  let isSlow = true;
  const proxy = createServer().on('connect', ({ url = '' }, socket) => {
    const open = (): void => {
      const { hostname, port } = new URL(`http://${url}`);
      const upstream = connect(Number(port), hostname, () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
      for (const end of [socket, upstream]) end.on('error', () => undefined);
      socket.pipe(upstream).pipe(socket);
    };
    if (isSlow) waiting.push(open);
    else open();
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const address = proxy.address();
  const dispatcher = new ProxyAgent({ uri: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`, proxyTunnel: true });
  onTestFinished(async () => {
    await dispatcher.destroy();
    proxy.closeAllConnections();
    proxy.close();
  });
  const scene = await play([said('rate-limited', { retryInMs: HOUR_MS })], {
    dispatcher,
    limit: { requests: 25, windowMs: MINUTE_MS },
    timeoutMs: 24 * HOUR_MS,
    otherwise: ok,
  });
  const sending = (): number => scene.source.gauges().queries.filter(({ state }) => state === 'requesting').length;
  const all = Promise.all(Array.from({ length: 2 }, () => scene.query()));
  await expect.poll(() => waiting.length).toBe(2);
  waiting[0]?.();
  await expect.poll(() => scene.events.length).toBe(1);
  waiting[1]?.();
  await expect.poll(sending).toBe(0);
  expect(scene.server.requests).toHaveLength(1);
  expect(scene.source.gauges().budgets).toMatchObject([{ used: 1 }]);
  isSlow = false;
  await scene.drive(all, MINUTE_MS);
  expect(scene.server.requests).toHaveLength(3);
});
