import { brotliCompressSync, gzipSync } from 'node:zlib';
import { virtualClock } from '@headgate/throttle/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { requestAllowance } from '../request-allowance.ts';
import { credential, play } from '../scene.fixture.ts';
import type { Respond } from '../testing/scripted-server.ts';
import { type Fault, CircuitBreaker } from './circuit-breaker.ts';
import { HOUR_MS, LATENCY_MS, type Meets, MINUTE_MS, paths, service, until } from './failing-service.fixture.ts';

describe('an outage of all requests', () => {
  it.each<Meets>(['refused', 'reset', 'silence', 'html', 502, 503, 504, 500, 522])(
    '%s: one request probes, and none is given up',
    async (fault) => {
      const hour = 60 * MINUTE_MS;
      const scene = service({ meets: (_, now) => (now < hour ? fault : 200), timeoutMs: 5_000 });
      for (const path of paths(50)) scene.query(path);
      await scene.clock.advance(30 * MINUTE_MS);
      expect(scene.source.gauges().outage).toMatchObject({ since: Date.UTC(2026, 0, 1), waiting: expect.any(Number) as number });
      await scene.clock.advance(30 * MINUTE_MS - 1);
      expect(scene.ended.size).toBe(0);
      // At most all 50 were in flight when the outage began, and a few followed before it was detected. After the first probes, one starts
      // every 15 to 30 s.
      expect(scene.attempts.length).toBeLessThan(50 + 10 + 3_600 / 15);
      expect(scene.mostProbing()).toBe(1);
      const probes = Map.groupBy(
        scene.attempts.filter(({ isDown }) => isDown),
        ({ path }) => path,
      );
      const turns = [...probes.values()].map(({ length }) => length);
      expect(probes.size).toBe(50);
      expect(Math.max(...turns) - Math.min(...turns)).toBeLessThanOrEqual(1);
      await scene.clock.advance(MINUTE_MS);
      expect(scene.count('answered')).toBe(50);
      expect(scene.source.gauges()).toMatchObject({ queries: [] });
      expect(scene.source.gauges().outage).toBeUndefined();
      expect(scene.clock.pending).toBe(0);
    },
  );

  it.each<Meets>(['cut', 'endless', 'no http', 'long headers', 'bare 100'])(
    'is not made of responses that can’t be read, which are each request’s own: %s',
    async (fault) => {
      const scene = service({ meets: (_, now) => (now < HOUR_MS ? fault : 200), timeoutMs: 5_000 });
      for (const path of paths(50)) scene.query(path);
      await scene.clock.advance(11 * MINUTE_MS);
      expect(scene.count('HEADGATE_GAVE_UP')).toBe(50);
      expect(scene.source.gauges().outage).toBeUndefined();
    },
  );

  it('is made of the same page of HTML for all, even if the service had responded until then', async () => {
    const scene = service({ meets: (_, now) => (now >= 10 && now < HOUR_MS ? 'html' : 200) });
    for (const path of paths(12)) {
      scene.query(path);
      await scene.clock.advance(2);
    }
    await scene.clock.advance(HOUR_MS);
    await scene.clock.advance(MINUTE_MS);
    expect(scene.count('answered')).toBe(12);
  });

  it('gives up every request that may not wait it out', async () => {
    const scene = service({ meets: () => 'refused', waitOutOutages: false });
    for (const path of paths(50)) scene.query(path);
    await scene.clock.advance(11 * MINUTE_MS);
    expect(scene.count('HEADGATE_GAVE_UP')).toBe(50);
    expect(scene.source.gauges().outage).toBeUndefined();
  });

  it('uses up no maximum of requests while none is sent, and afterwards exactly that many are', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 8 }),
        fc.array(fc.constantFrom<Meets>('refused', 'reset', 200, 503, 429), { maxLength: 40 }),
        async (max, script) => {
          const left = [...script];
          let isUsedUp = false;
          const allowance = requestAllowance({
            max,
            onUsedUp() {
              isUsedUp = true;
              scene.source.stop();
            },
          });
          const scene = service({ meets: () => left.shift() ?? 200, allowance });
          for (const path of paths(10)) scene.query(path);
          await until(scene.clock, () => scene.ended.size === 10, { stepMs: MINUTE_MS });
          const sent = scene.attempts.filter(({ meets }) => meets !== 'refused').length;
          expect([isUsedUp, sent]).toEqual([true, max]);
        },
      ),
    );
  });

  it.each<Meets>([404, 429])('ends with any response below 500: %s', async (answer) => {
    let isUp = false;
    const scene = service({ meets: (path) => (!isUp ? 503 : path === '/good/0' ? 200 : answer) });
    for (const path of paths(20)) scene.query(path);
    await scene.clock.advance(5 * MINUTE_MS);
    expect(scene.source.gauges().outage).toBeDefined();
    isUp = true;
    const before = scene.attempts.length;
    await scene.clock.advance(31_000);
    expect(scene.source.gauges().outage).toBeUndefined();
    expect(new Set(scene.attempts.slice(before).map(({ path }) => path)).size).toBe(20);
    scene.source.stop();
    await scene.clock.settle();
  });

  it('reports since when, when the next attempt is, and how many wait; a stop ends them at once', async () => {
    const scene = service({ meets: () => 'refused' });
    const abort = new AbortController();
    scene.query('/aborted', abort.signal);
    for (const path of paths(9)) scene.query(path);
    await scene.clock.advance(10 * MINUTE_MS);
    await until(scene.clock, () => scene.source.gauges().outage?.retryAt !== undefined, { stepMs: 10 });
    const { queries, outage } = scene.source.gauges();
    expect(outage).toMatchObject({ since: Date.UTC(2026, 0, 1), attempts: scene.attempts.length, waiting: 10 });
    expect(outage?.reason).toContain('connection refused');
    expect(queries).toHaveLength(10);
    expect(queries[0]).toMatchObject({ state: 'service-down', until: outage?.retryAt, weights: { rate: 1 } });
    expect(scene.events.at(-1)?.retryInMs).toBeGreaterThan(10_000);
    const before = scene.attempts.length;
    await scene.clock.advance((outage?.retryAt ?? 0) - scene.clock.epochMs() - 1);
    expect(scene.attempts).toHaveLength(before);
    await scene.clock.advance(1);
    expect(scene.attempts).toHaveLength(before + 1);
    abort.abort('enough');
    await scene.clock.settle();
    expect(scene.ended.get('/aborted')).toEqual({ atMs: scene.clock.monotonicMs(), how: 'enough' });
    await scene.clock.advance(LATENCY_MS);
    scene.source.stop();
    await scene.clock.settle();
    expect(scene.count('HEADGATE_STOPPED')).toBe(9);
    expect(scene.clock.pending).toBe(0);
  });

  it('is probed by no request that was asked to wait before its time', async () => {
    const scene = service({ meets: (_, now) => (now < 59 * MINUTE_MS ? { status: 503, retryAfter: 3_600 } : 200) });
    for (const path of paths(20)) scene.query(path);
    await scene.clock.advance(MINUTE_MS);
    scene.query('/late');
    await scene.clock.advance(58 * MINUTE_MS);
    expect(scene.attempts.map(({ path }) => path)).toEqual([...paths(20), '/late']);
    await scene.clock.advance(3 * MINUTE_MS);
    expect(scene.count('answered')).toBe(21);
  });

  it('calls those back that wait for a budget', async () => {
    const scene = service({ meets: () => 'reset', limit: { requests: 2, windowMs: 100 } });
    for (const path of paths(50)) scene.query(path);
    // The first probe starts 375 ms (three quarters of 500) after the first two requests have failed.
    await scene.clock.advance(LATENCY_MS + 374);
    expect(scene.attempts).toHaveLength(2);
    // The first of the two requests waits by itself, as after any error.
    expect(scene.source.gauges().outage).toMatchObject({ waiting: 49 });
    await scene.clock.advance(1);
    expect(scene.attempts).toHaveLength(3);
    scene.source.stop();
    await scene.clock.settle();
  });

  it('is not declared after one error', async () => {
    const scene = service({ meets: (path, now) => (path === '/blip' && now < 10 ? 503 : 200) });
    scene.query('/blip');
    await scene.clock.advance(LATENCY_MS);
    expect(scene.events).toHaveLength(1);
    for (const path of paths(5)) scene.query(path);
    await scene.clock.advance(LATENCY_MS);
    expect(scene.count('answered')).toBe(5);
    await scene.clock.advance(1_000);
    expect(scene.count('answered')).toBe(6);
  });

  it('uses up no retry time of a request', async () => {
    const hour = 60 * MINUTE_MS;
    let more = 1;
    const scene = service({
      meets(path, now) {
        if (now >= 10_000 && now < hour) return 503;
        if (path !== '/unlucky') return 200;
        return now < hour || (more -= 1) >= 0 ? 500 : 200;
      },
    });
    scene.query('/unlucky');
    for (const path of paths(20)) {
      scene.query(path);
      await scene.clock.advance(1_000);
    }
    expect(scene.source.gauges().outage).toBeDefined();
    await scene.clock.advance(hour + MINUTE_MS);
    expect(more).toBeLessThan(0);
    expect(scene.count('answered')).toBe(21);
  });

  it.each(['gzip', 'br'] as const)(
    'is not made of answers of which a proxy has half, and ends them as if that were all: %s',
    async (encoding) => {
      const bytes = encoding === 'gzip' ? gzipSync('"good"') : brotliCompressSync('"good"');
      const half: Respond = (_, response) =>
        response.writeHead(200, { 'content-encoding': encoding }).end(bytes.subarray(0, bytes.length >> 1));
      const scene = await play([half, half, half, half, half, half, half, half], {
        waitOutOutages: true,
        retryForMs: MINUTE_MS,
        random: () => 0,
      });
      expect((await scene.drive(scene.query(), 1_000)).value).toBe('good');
      expect(scene.events).toHaveLength(9);
      expect(scene.events[0]?.reason).toBe(`its ${encoding} body is damaged or incomplete`);
      expect(scene.source.gauges().budgets).toMatchObject([{ used: 9 }]);
    },
  );

  it('costs its probe none of its time, however long each attempt takes', async () => {
    const answers = [429, 500];
    const scene = service({ meets: (_, now) => (now < 60 * MINUTE_MS ? 'silence' : (answers.shift() ?? 200)) });
    for (const path of paths(2, 'both')) scene.query(path);
    await scene.clock.advance(62 * MINUTE_MS);
    expect(answers).toEqual([]);
    expect(scene.count('answered')).toBe(2);
  });

  it('gives no request up between two looks at the clock', async () => {
    for (let retryForMs = 240; retryForMs < 340; retryForMs += 0.5) {
      const met: Meets[] = ['refused', 'refused'];
      const scene = service({ meets: (path) => (path === '/poor' ? (met.shift() ?? 200) : 200), retryForMs, lookMs: 0.5 });
      scene.query('/poor');
      await scene.clock.advance(100);
      scene.query('/other');
      await scene.clock.advance(5_000);
      expect([retryForMs, scene.count('answered')]).toEqual([retryForMs, 2]);
    }
  });

  it('is not declared because one request is asked to wait: it waits alone, and longer than its time only until others get responses', async () => {
    const scene = service({ meets: (path) => (path === '/bad' ? { status: 503, retryAfter: 3_600 } : 200) });
    scene.query('/bad');
    await scene.clock.advance(30 * MINUTE_MS);
    expect(scene.attempts).toHaveLength(1);
    for (const round of ['one', 'two', 'three', 'four']) {
      for (const path of paths(20, round)) scene.query(path);
      await scene.clock.advance(30_000);
    }
    expect(scene.count('answered')).toBe(80);
    await scene.clock.advance(8 * MINUTE_MS);
    expect(scene.ended.get('/bad')).toBeUndefined();
    await scene.clock.advance(4 * MINUTE_MS);
    expect(scene.ended.get('/bad')?.how).toBe('HEADGATE_GAVE_UP');
  });

  it.each([30, 3_600])('is not made of half of the machines that request a wait of %i s', async (retryAfter) => {
    let state = 7;
    const isIll = (): boolean => (state = (state * 1_664_525 + 1_013_904_223) >>> 0) / 2 ** 32 < 0.5;
    const scene = service({ meets: () => (isIll() ? { status: 503, retryAfter } : 200), limit: { requests: 10, windowMs: 10_000 } });
    for (const path of paths(200)) scene.query(path);
    await scene.clock.advance(20 * MINUTE_MS);
    expect(scene.count('answered')).toBe(200);
  });

  it('is not prolonged by a probe whose own budget is used up', async () => {
    const scene = service({
      meets: (_, now) => (now > 1_000 && now < 5 * MINUTE_MS ? 'refused' : 200),
      budgets: { all: { requests: 1_000, windowMs: 1_000 }, rare: { requests: 1, windowMs: 24 * 60 * MINUTE_MS } },
      weights: (path) => ({ rare: path.startsWith('/rare') ? 1 : 0 }),
    });
    scene.query('/rare/0');
    await scene.clock.advance(2_000);
    for (const path of [...paths(2), ...paths(3, 'rare').slice(1), ...paths(9).slice(2)]) scene.query(path);
    await scene.clock.advance(10 * MINUTE_MS);
    expect(scene.count('answered')).toBe(10);
    scene.source.stop();
    await scene.clock.settle();
  });
});

describe('a request that fails for its own reason', () => {
  it.each([500, 502, 503, 'reset', 'cut'] as const)(
    '%s: is given up after its time, even if only others like it are left',
    async (fault) => {
      const scene = service({ meets: (path) => (path.startsWith('/bad') ? fault : 200) });
      for (const path of paths(3, 'bad')) scene.query(path);
      for (const path of paths(40)) {
        scene.query(path);
        await scene.clock.advance(12_000);
        expect(scene.ended.get(path)?.how).toBe('answered');
      }
      await scene.clock.advance(12 * MINUTE_MS);
      expect(scene.count('HEADGATE_GAVE_UP')).toBe(3);
      expect(Math.min(...paths(3, 'bad').map((path) => scene.ended.get(path)?.atMs ?? 0))).toBeGreaterThanOrEqual(10 * MINUTE_MS);
      expect(scene.clock.pending).toBe(0);
    },
  );

  it('ends the outage when only requests like it are left', async () => {
    const scene = service({ meets: (path, now) => (path.startsWith('/bad') || now >= MINUTE_MS ? 503 : 200) });
    for (const path of paths(2, 'bad')) scene.query(path);
    for (const path of paths(12)) {
      scene.query(path);
      await scene.clock.advance(5_000);
    }
    const abort = new AbortController();
    for (const path of paths(2, 'aborted')) scene.query(path, abort.signal);
    await scene.clock.advance(30 * MINUTE_MS);
    expect(scene.source.gauges().outage).toBeDefined();
    expect(scene.count('HEADGATE_GAVE_UP')).toBe(0);
    abort.abort('enough');
    await scene.clock.advance(12 * MINUTE_MS);
    expect(scene.count('HEADGATE_GAVE_UP')).toBe(2);
  });

  it('alone it is given up after its time, unless its service is not reached', async () => {
    const alone = async (met: Meets) => {
      const scene = service({ meets: () => met, timeoutMs: 5_000 });
      scene.query('/alone');
      await scene.clock.advance(60 * MINUTE_MS);
      scene.source.stop();
      await scene.clock.settle();
      return scene.ended.get('/alone')?.how;
    };
    for (const met of [500, 503, 'silence', 'reset'] as const) expect([met, await alone(met)]).toEqual([met, 'HEADGATE_GAVE_UP']);
    expect(await alone('refused')).toBe('HEADGATE_STOPPED');
  });
});

describe('a credential at fault', () => {
  it.each<Meets>([500, 503, 'silence', 'reset', 'cut', { status: 503, retryAfter: 3_600 }])(
    '%s: is tried now and then, and the others carry the requests at full pace',
    async (fault) => {
      let isWell = false;
      const carried = { a: 0, b: 0 };
      const scene = service({
        meets(_, __, headers) {
          const name = headers.includes('token-of-a') ? 'a' : 'b';
          carried[name] += 1;
          return name === 'b' || isWell ? 200 : fault;
        },
        credentials: [credential('a'), credential('b')],
        limit: { requests: 5, windowMs: 1_000 },
        timeoutMs: 5_000,
      });
      for (const path of paths(600)) scene.query(path);
      await scene.clock.advance(10_000);
      const before = scene.count('answered');
      await scene.clock.advance(60_000);
      // A window of the good credential holds 5 requests, and takes 1,000 ms plus the latency.
      expect(scene.count('answered') - before).toBeGreaterThanOrEqual(5 * 58);
      expect(scene.source.gauges().outage).toBeUndefined();
      expect(carried.a).toBeLessThan(30);
      isWell = true;
      await until(scene.clock, () => scene.ended.size === 600);
      expect(scene.count('answered')).toBe(600);
      expect(carried.a).toBeGreaterThan(typeof fault === 'object' ? 0 : 30);
      expect(scene.clock.pending).toBe(0);
    },
  );

  it('is waited for if no other is left', async () => {
    const scene = service({
      meets: (_, now, headers) => (now < HOUR_MS && headers.includes('token-of-a') ? 503 : now > 2_000 && now < HOUR_MS ? 503 : 200),
      credentials: [credential('a'), credential('b')],
      limit: { requests: 5, windowMs: 1_000 },
    });
    for (const path of paths(100)) scene.query(path);
    await scene.clock.advance(HOUR_MS);
    expect(scene.source.gauges().outage).toBeDefined();
    await scene.clock.advance(MINUTE_MS);
    expect(scene.count('answered')).toBe(100);
  });
});

describe('a few requests that only get errors, with no other to compare them with', () => {
  it.each<readonly [string, readonly Meets[]]>([
    ['one that gets 500', [500]],
    ['two that get 500', [500, 500]],
    ['one whose answer breaks off', ['cut']],
    ['one that gets HTML', ['html']],
    ['one whose headers never end', ['long headers']],
    ['one that gets no HTTP', ['no http']],
  ])('%s: are given up after their time, because the service responds', async (_, met) => {
    const scene = service({ meets: (path) => met[Number(path.split('/')[2])] ?? 200 });
    for (const path of paths(met.length, 'bad')) scene.query(path);
    await scene.clock.advance(10 * MINUTE_MS - 30_000);
    expect(scene.ended.size).toBe(0);
    await scene.clock.advance(MINUTE_MS);
    expect(scene.count('HEADGATE_GAVE_UP')).toBe(met.length);
    expect(scene.source.gauges().outage).toBeUndefined();
    for (const { message } of scene.errors) expect(message).toContain('report it to the service');
  });

  it.each<readonly [string, readonly Meets[]]>([
    ['one that is not reached', ['refused']],
    ['many that get 503', Array.from({ length: 11 }, () => 503)],
    ['some without a response', ['refused', 'reset', 'silence']],
  ])('%s: are waited for without end, because the service is down', async (_, met) => {
    const scene = service({
      meets: (path, now) => (now > 12 * HOUR_MS ? 200 : (met[Number(path.split('/')[2])] ?? 200)),
      timeoutMs: 5_000,
    });
    for (const path of paths(met.length, 'bad')) scene.query(path);
    await scene.clock.advance(12 * HOUR_MS + MINUTE_MS);
    expect(scene.count('answered')).toBe(met.length);
  });

  it('use up their own time by their own probes, if they get the same: each as long as the service probed with it', async () => {
    const scene = service({ meets: () => 'html' });
    for (const path of paths(4, 'bad')) scene.query(path);
    await scene.clock.advance(MINUTE_MS);
    expect(scene.source.gauges().outage).toMatchObject({ reason: 'got HTML instead of JSON' });
    await scene.clock.advance(30 * MINUTE_MS);
    expect(scene.ended.size).toBe(0);
    await scene.clock.advance(15 * MINUTE_MS);
    expect(scene.count('HEADGATE_GAVE_UP')).toBe(4);
    expect(scene.source.gauges().outage).toBeDefined();
    expect(scene.clock.pending).toBe(0);
  });

  it('end though others are not reached', async () => {
    const met: readonly Meets[] = [500, 502, 503, 504, 522, 'reset', 'silence', 'cut', 'endless', { status: 503, retryAfter: 3_600 }];
    const scene = service({ meets: (path) => met[Number(path.split('/')[2])] ?? 200, timeoutMs: 5_000 });
    for (const path of paths(met.length, 'bad')) scene.query(path);
    await scene.clock.advance(3 * HOUR_MS);
    expect([...scene.ended.keys()].toSorted()).toEqual(['/bad/0', '/bad/7', '/bad/8']);
    scene.source.stop();
    await scene.clock.settle();
  });
});

it('an untried request is the next probe, and so are those that failed less often', async () => {
  const scene = service({ meets: () => 'reset' });
  for (const path of paths(20, 'bad')) scene.query(path);
  await scene.clock.advance(20 * MINUTE_MS);
  for (const path of paths(3, 'new')) scene.query(path);
  const before = scene.attempts.length;
  await until(scene.clock, () => scene.attempts.length === before + 5);
  const probes = scene.attempts.slice(before).map(({ path }) => path);
  expect(probes.slice(0, 3).toSorted()).toEqual(paths(3, 'new'));
  expect(probes.slice(3).every((path) => path.startsWith('/new'))).toBe(true);
  scene.source.stop();
  await scene.clock.settle();
});

describe('evidence', () => {
  const FAULT = { reason: '503', retryInMs: undefined, isLast: false } as const;

  function evidence(names: readonly string[] = ['a']) {
    const clock = virtualClock();
    const breaker = new CircuitBreaker(
      clock,
      () => 0.5,
      true,
      () => names,
      () => undefined,
    );
    const attempt = (call: ReturnType<typeof breaker.begin>, credential = 'a') => {
      breaker.granted(call, credential);
      return {
        answered: () => breaker.answered(call),
        failed: (kind: Fault['kind'] = 'down') => breaker.failed(call, { ...FAULT, kind }).kind,
      };
    };
    return { clock, breaker, attempt, begin: () => breaker.begin() };
  }

  it('of three faults while others are answered is against the request, until it is answered itself', () => {
    for (const isAnswered of [false, true]) {
      const { attempt, begin } = evidence();
      const [one, other] = [begin(), begin()];
      for (let i = 0; i < 3; i += 1) {
        const failing = attempt(one);
        attempt(other).answered();
        expect(failing.failed()).toBe('back off');
      }
      if (isAnswered) attempt(one).answered();
      expect([attempt(one).failed(), attempt(one).failed()]).toEqual(['back off', isAnswered ? 'wait' : 'back off']);
    }
  });

  it('of an attempt that began before the last answer is against the request alone', () => {
    const { attempt, begin } = evidence();
    const [one, two, other] = [begin(), begin(), begin()];
    const late = [one, two, one, two].map((call) => attempt(call));
    attempt(other).answered();
    expect(late.map((failing) => failing.failed())).toEqual(Array.from({ length: 4 }, () => 'back off'));
    expect([attempt(one).failed(), attempt(two).failed()]).toEqual(['back off', 'wait']);
  });

  it('of a request that never went out is against the service, however often others were answered', () => {
    const { attempt, begin } = evidence();
    const [one, other] = [begin(), begin()];
    for (let i = 0; i < 5; i += 1) {
      expect(attempt(one).failed('unreached')).toBe('back off');
      attempt(other).answered();
    }
    expect([attempt(one).failed(), attempt(one).failed()]).toEqual(['back off', 'wait']);
  });

  it('of three faults of a credential while another is answered is against it, and no request waits for it', () => {
    const { attempt, begin, breaker } = evidence(['a', 'b']);
    const [waits, waitsForOther] = [begin(), begin()];
    breaker.granted(waits, 'a');
    breaker.granted(waitsForOther, 'b');
    for (let i = 0; i < 3; i += 1) {
      const failing = attempt(begin(), 'a');
      attempt(begin(), 'b').answered();
      failing.failed();
    }
    expect(breaker.outage(0)).toBeUndefined();
    expect([breaker.heldUntilMs('a'), breaker.heldUntilMs('b')]).toEqual([375, -Infinity]);
    expect([breaker.maySend(waits), breaker.maySend(waitsForOther)]).toEqual([false, true]);
    attempt(begin(), 'a').answered();
    expect(breaker.heldUntilMs('a')).toBe(-Infinity);
  });

  it('is looked for by another request where the probe goes away', () => {
    const { attempt, begin, breaker } = evidence();
    const [one, two] = [begin(), begin()];
    expect([attempt(one).failed(), attempt(two).failed()]).toEqual(['back off', 'wait']);
    expect(breaker.heldUntilMs('a')).toBe(375);
    attempt(one);
    expect(breaker.heldUntilMs('a')).toBe(Infinity);
    breaker.ended(two);
    expect(breaker.heldUntilMs('a')).toBe(Infinity);
    breaker.ended(one);
    expect(breaker.heldUntilMs('a')).toBe(375);
    expect(breaker.outage(0)).toMatchObject({ attempts: 2 });
  });
});

const TORTURE = process.env['HEADGATE_TORTURE'] === '1';

it('the law: whatever fails and when, only requests at fault are given up, after their time', async () => {
  const fault = fc.constantFrom<Meets>('refused', 'reset', 500, 502, 503, 504, { status: 503, retryAfter: 120 });
  const scenario = fc.record({
    seed: fc.integer(),
    outages: fc.array(
      fc.record({ afterMs: fc.integer({ min: 1_000, max: 900_000 }), lastsMs: fc.integer({ min: 1, max: 3_000_000 }), fault }),
      {
        maxLength: 4,
      },
    ),
    /** Share of the attempts of good requests that fail while the service is up. */
    flaky: fc.constantFrom(0, 0.02),
    good: fc.integer({ min: 1, max: 40 }),
    bad: fc.array(fc.constantFrom<Meets>('reset', 500, 503, { status: 503, retryAfter: 30 }), { maxLength: 4 }),
    requests: fc.integer({ min: 2, max: 50 }),
  });
  await fc.assert(
    fc.asyncProperty(scenario, async ({ seed, outages, flaky, good, bad, requests }) => {
      let state = seed >>> 0;
      const random = (): number => (state = (state * 1_664_525 + 1_013_904_223) >>> 0) / 2 ** 32;
      let fromMs = 0;
      const times = outages.map(({ afterMs, lastsMs, fault: met }) => {
        const start = fromMs + afterMs;
        fromMs = start + lastsMs;
        return { start, end: fromMs, met };
      });
      const scene = service({
        meets(path, now) {
          const outage = times.find(({ start, end }) => now >= start && now < end);
          if (outage !== undefined) return outage.met;
          const own = /^\/bad\/(\d+)$/.exec(path)?.[1];
          if (own !== undefined) return bad[Number(own)] ?? 500;
          return random() < flaky ? 503 : 200;
        },
        random,
        limit: { requests, windowMs: 10_000 },
      });
      const names = paths(bad.length, 'bad');
      for (const path of [...names, ...paths(good)]) scene.query(path);
      // Other requests come all the time. Their responses let the source distinguish an outage from a request that keeps failing.
      let others = 0;
      const isOver = (): boolean => scene.ended.size === bad.length + good + others;
      for (let i = 0; i < 4_000 && !(scene.clock.monotonicMs() > fromMs && names.every((path) => scene.ended.has(path))); i += 1) {
        scene.query(`/other/${(others += 1)}`);
        await scene.clock.advance(20_000 * random());
      }
      await until(scene.clock, isOver, { stepMs: 10_000, atMostMs: 60 * MINUTE_MS });
      expect(isOver()).toBe(true);
      expect(scene.count('answered')).toBe(good + others);
      expect(scene.mostProbing()).toBeLessThanOrEqual(1);
      for (const path of names) {
        const { how, atMs = 0 } = scene.ended.get(path) ?? {};
        expect(how).toBe('HEADGATE_GAVE_UP');
        const first = scene.attempts.find((attempt) => attempt.path === path)?.atMs ?? 0;
        const downMs = times.reduce((sum, { start, end }) => sum + Math.max(0, Math.min(end, atMs) - Math.max(start, first)), 0);
        // An outage is known only after a request has met it.
        expect(atMs - first - downMs).toBeGreaterThan(10 * MINUTE_MS - 30_000 * (1 + times.length));
      }
      for (const { start, end } of times) {
        const during = scene.attempts.filter(({ atMs }) => atMs >= start && atMs < end);
        // Some windows of requests can start before the outage is known. After the first probes, another one starts at most every 15
        // s.
        expect(during.length).toBeLessThanOrEqual(8 * requests + 20 + (end - start) / 15_000);
      }
      expect(scene.clock.pending).toBe(0);
    }),
    // About one run in 400 has two outages so close that the second is noticed late.
    TORTURE ? { numRuns: 200 } : { numRuns: 12, seed: 2 },
  );
});
