import { describe, expect, it } from 'vitest';
import { FakeTerminal } from './fake-terminal.fixture.ts';
import { createReporter } from './create-reporter.ts';
import { virtualClock } from './virtual-clock.fixture.ts';
import type { Reporter, ReporterOptions } from './reporter.ts';
import type { Activity, RunEvent, RunGauges } from './run-event.ts';
import type { VirtualClock } from './virtual-clock.fixture.ts';

const idle: RunGauges = { budgets: [], credits: [], activities: [] };
const reason = { code: 'HEADGATE_UNAUTHORIZED', message: 'the account is protected (401 "Not authorized.")' };
const hostile = '@x\u001B[2J\u001B]0;owned\u0007\u009B31m\r\n\u202Egnp';

interface Stage {
  readonly terminal: FakeTerminal;
  readonly clock: VirtualClock;
  readonly reporter: Reporter;
  gauges: RunGauges;
}

async function stage(
  options: Partial<ReporterOptions> & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number } = {},
): Promise<Stage> {
  const terminal = new FakeTerminal(options);
  const clock = virtualClock();
  const made: { gauges: RunGauges } = { gauges: idle };
  const reporter = await createReporter({
    stderr: terminal,
    json: false,
    color: false,
    clock,
    gauges: () => made.gauges,
    header: 'headgate run   headgate.yaml   -> ./headgate.db',
    timeZone: 'UTC',
    ...options,
  });
  return Object.assign(made, { terminal, clock, reporter });
}

function page(number: number, ids = 5000): RunEvent {
  return { type: 'page-written', user: '@alpha', crawl: 'c1', page: number, ids, credential: 'app' };
}

function activity(subject: string, state: Activity['state'], until?: number): Activity {
  return { service: 'followers', subject, state, ...(until === undefined ? {} : { until }) };
}

/** One of every kind, as hostile as it gets. */
const everyEvent: readonly RunEvent[] = [
  { type: 'crawl-started', user: hostile, crawl: 'c9', page: 1, resumed: false },
  { type: 'page-written', user: hostile, crawl: 'c9', page: 1, ids: 3, credential: hostile },
  { type: 'crawl-completed', user: hostile, crawl: 'c9', pages: 1, ids: 3 },
  { type: 'crawl-failed', user: hostile, crawl: 'c8', error: { code: hostile, message: hostile } },
  { type: 'books-queued', isbns: 1, authors: 1 },
  { type: 'books-written', found: 1, missing: 0 },
  { type: 'author-written', author: hostile, page: 1, last: true, books: 1 },
  { type: 'dead-letter', topic: 'books.dead-letters', key: hostile, error: { code: 'X', message: hostile } },
  { type: 'request', service: 'books', credential: hostile, outcome: 'transient', subject: hostile, reason: hostile, retryInMs: 100 },
  { type: 'notice', level: 'warn', message: hostile },
  { type: 'lane-opened', service: 'followers', lane: 2 },
  { type: 'lane-left', service: 'followers', lane: 2, reason: hostile },
  { type: 'log-unavailable', driver: 'kafka', reason: hostile },
  { type: 'log-available', driver: 'kafka' },
];

const refused: RunEvent = { type: 'log-unavailable', driver: 'kafka', reason: 'connect ECONNREFUSED 127.0.0.1:9092' };
const takenOver = 'process 12 on host-b (since 10:41:12) has taken this lane over.';

function opened(...lanes: readonly number[]): RunEvent[] {
  return lanes.map((lane) => ({ type: 'lane-opened', service: 'followers', lane }));
}

describe('plain lines', () => {
  it('says what happened, when, and what is left of the budget', async () => {
    const at = await stage();
    at.gauges = { ...idle, budgets: [{ service: 'followers', credential: 'app', limit: 15, used: 2, windowMs: 900_000 }] };
    at.reporter.event(page(412));
    expect(at.terminal.lines).toEqual([
      '10:31:04 headgate run   headgate.yaml   -> ./headgate.db',
      '10:31:04 @alpha page 412: 5,000 ids, 13/15 left',
    ]);
  });

  it('says at most one line a second about a crawl and sums the rest up in the next', async () => {
    const at = await stage();
    at.reporter.event({ type: 'crawl-started', user: '@alpha', crawl: 'c1', page: 1, resumed: false });
    for (let number = 1; number <= 30; number += 1) {
      at.clock.pass(100);
      at.reporter.event(page(number, 1000));
    }
    at.reporter.event({ type: 'crawl-completed', user: '@alpha', crawl: 'c1', pages: 30, ids: 30_000 });
    at.clock.pass(1000);
    const lines = at.terminal.lines.filter((line) => line.includes('@alpha'));
    expect(lines).toEqual([
      '10:31:04 @alpha starts',
      '10:31:05 @alpha pages 1 to 9: 9,000 ids',
      '10:31:06 @alpha pages 10 to 19: 10,000 ids',
      '10:31:07 @alpha pages 20 to 29: 10,000 ids',
      '10:31:08 @alpha page 30: 1,000 ids; done: 30 pages, 30,000 ids',
    ]);
  });

  it('never keeps the last page back for more than a second, though nothing follows', async () => {
    const at = await stage();
    at.reporter.event(page(1));
    at.reporter.event(page(2));
    expect(at.terminal.text).not.toContain('page 2');
    at.clock.pass(1000);
    expect(at.terminal.lines.at(-1)).toBe('10:31:05 @alpha page 2: 5,000 ids');
  });

  it('loses no id in its lines, however the pages come', async () => {
    const at = await stage();
    let ids = 0;
    for (let number = 1; number <= 500; number += 1) {
      at.reporter.event(page(number, number));
      ids += number;
      at.clock.pass((number * 7919) % 700);
    }
    at.reporter.close();
    const said = at.terminal.lines.map((line) => Number(/: ([\d,]+) ids?/.exec(line)?.[1]?.replaceAll(',', '') ?? 0));
    expect(said.reduce((sum, count) => sum + count, 0)).toBe(ids);
    expect(at.clock.timers).toBe(0);
  });

  it('tells every error at once, the pages before it first', async () => {
    const at = await stage();
    at.gauges = { ...idle, activities: [activity('@beta', 'asking')] };
    at.reporter.event(page(1));
    at.reporter.event(page(2));
    at.reporter.event({
      type: 'request',
      service: 'followers',
      credential: 'app',
      outcome: 'transient',
      subject: '@alpha',
      reason: '503',
      retryInMs: 2400,
    });
    at.reporter.event({ type: 'crawl-failed', user: '@alpha', crawl: 'c1', error: reason });
    expect(at.terminal.lines.slice(1)).toEqual([
      '10:31:04 @alpha page 1: 5,000 ids',
      '10:31:04 @alpha: 503, again in 2.4 s',
      '10:31:04 @alpha page 2: 5,000 ids',
      '10:31:04 @alpha: the account is protected (401 "Not authorized."). Its request is in followers.dead-letters; the other crawls go on.',
    ]);
  });

  it.each([['crawl first'], ['dead letter first']])('tells a failed crawl and its dead letter in one line: %s', async (order) => {
    const at = await stage();
    const events: RunEvent[] = [
      { type: 'crawl-failed', user: '@carol', crawl: 'c2', error: reason },
      { type: 'dead-letter', topic: 'followers.dead-letters', key: '@carol', error: reason },
    ];
    for (const event of order === 'crawl first' ? events : events.toReversed()) at.reporter.event(event);
    at.reporter.event({ type: 'dead-letter', topic: 'followers.dead-letters', key: '@dave', error: reason });
    const lines = at.terminal.lines.slice(1);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toContain('@carol: the account is protected');
    expect(lines[0]).toContain('followers.dead-letters');
    expect(lines[1]).toContain('@dave: the account is protected');
  });

  it('names whom an error is about once', async () => {
    const at = await stage();
    at.reporter.event({ type: 'crawl-failed', user: '@carol', crawl: 'c', error: { code: 'X', message: '@carol: no such user' } });
    at.reporter.event({ type: 'crawl-failed', user: '12', crawl: 'd', error: { code: 'X', message: 'gone after 412 pages' } });
    expect(at.terminal.lines.slice(1)).toEqual([
      '10:31:04 @carol: no such user. Its request is in followers.dead-letters.',
      '10:31:04 12: gone after 412 pages. Its request is in followers.dead-letters.',
    ]);
  });

  it('says once why nothing happens and when it goes on', async () => {
    const at = await stage();
    const freeAt = at.clock.now() + 600_000;
    at.gauges = {
      ...idle,
      budgets: [{ service: 'followers', credential: 'app', limit: 15, used: 15, windowMs: 900_000, freeAt }],
      activities: [activity('@alpha', 'waiting-for-budget', freeAt), activity('@beta', 'queued')],
    };
    at.clock.pass(60_000);
    expect(at.terminal.lines.slice(1)).toEqual(['10:31:07 everything waits for app, 15/15 used: next request at 10:41:04']);
    at.gauges = {
      budgets: [],
      credits: [{ service: 'followers', max: 20_000, used: 20_000 }],
      activities: [activity('@alpha', 'waiting-for-downstream')],
    };
    at.clock.pass(60_000);
    expect(at.terminal.lines.at(-1)).toContain('followers: 20,000 ids unwritten (full): no request until it catches up');
    expect(at.terminal.lines).toHaveLength(3);
  });

  it('tells of each lane that comes or goes, what was written of its crawls first', async () => {
    const at = await stage();
    const ofLane = (lane: number, number: number): RunEvent => ({
      type: 'page-written',
      user: `@in${lane}`,
      crawl: `followers.requests-${lane}-5`,
      page: number,
      ids: 10,
      credential: 'app',
    });
    for (const event of opened(1, 2)) at.reporter.event(event);
    for (const event of [ofLane(1, 1), ofLane(2, 1), ofLane(1, 2), ofLane(2, 2)]) at.reporter.event(event);
    at.reporter.event({ type: 'lane-left', service: 'followers', lane: 2, reason: takenOver });
    at.reporter.event({ type: 'lane-left', service: 'followers', lane: 1 });
    at.reporter.close();
    expect(at.terminal.lines.slice(1)).toEqual([
      '10:31:04 followers lane 1: this process works it now',
      '10:31:04 followers lane 2: this process works it now',
      '10:31:04 @in1 page 1: 10 ids',
      '10:31:04 @in2 page 1: 10 ids',
      '10:31:04 @in2 page 2: 10 ids',
      '10:31:04 followers lane 2: process 12 on host-b (since 10:41:12) has taken this lane over; this process stopped working on it. Nothing is lost.',
      '10:31:04 @in1 page 2: 10 ids',
      '10:31:04 followers lane 1: given up; what is unfinished goes on wherever it is opened next',
    ]);
  });

  it('tells once that the log is away, and once that it is back', async () => {
    const at = await stage();
    at.reporter.event({ type: 'log-available', driver: 'kafka' });
    at.reporter.event(refused);
    at.clock.pass(42_000);
    at.reporter.event(refused);
    at.reporter.event({ type: 'log-available', driver: 'kafka' });
    at.reporter.event({ type: 'log-available', driver: 'kafka' });
    expect(at.terminal.lines.slice(1)).toEqual([
      "10:31:04 kafka can't be reached (connect ECONNREFUSED 127.0.0.1:9092): nothing is lost, goes on by itself",
      '10:31:46 kafka can be reached again after 42 s',
    ]);
  });

  it('says each right that is missing, once, and that it was granted', async () => {
    const at = await stage();
    const lacks = (right: string): RunEvent => ({
      type: 'log-unavailable',
      driver: 'kafka',
      refused: true,
      reason: `this user lacks ${right}`,
      since: at.clock.now() - 2_000,
    });
    const rights = ['Read on group headgate', 'Read on group headgate', 'Write on topic followers.ids'];
    for (const right of rights) at.reporter.event(lacks(right));
    at.reporter.event(refused);
    at.reporter.event(lacks('Write on topic followers.ids'));
    at.clock.pass(4_000);
    at.reporter.event({ type: 'log-available', driver: 'kafka' });
    const waits = 'nothing is lost, goes on by itself';
    expect(at.terminal.lines.slice(1)).toEqual([
      `10:31:04 kafka refuses (this user lacks Read on group headgate): ${waits} once that is given`,
      `10:31:04 kafka refuses (this user lacks Write on topic followers.ids): ${waits} once that is given`,
      `10:31:04 kafka can't be reached (connect ECONNREFUSED 127.0.0.1:9092): ${waits}`,
      `10:31:04 kafka refuses (this user lacks Write on topic followers.ids): ${waits} once that is given`,
      '10:31:08 kafka has granted what was missing after 6 s',
    ]);
  });

  it('says once why it holds no lane: others work them all only where the group has said so', async () => {
    const at = await stage();
    at.clock.pass(60_000);
    at.reporter.event({ type: 'lanes-assigned', lanes: 1 });
    at.clock.pass(60_000);
    at.reporter.event({ type: 'lanes-assigned', lanes: 0 });
    at.clock.pass(60_000);
    expect(at.terminal.lines.slice(1)).toEqual([
      '10:31:07 joins the group: it has not said yet which lanes are for this process',
      '10:32:04 opens 1 lane',
      '10:33:04 stands by: other processes of the group work all lanes',
    ]);
    const holding = await stage();
    for (const event of opened(0)) holding.reporter.event(event);
    holding.clock.pass(60_000);
    expect(holding.terminal.text).not.toContain('stands by');
  });

  it('lets no control character through', async () => {
    const at = await stage({ header: hostile });
    for (const event of everyEvent) at.reporter.event(event);
    at.reporter.close();
    expect(at.terminal.text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202A-\u202E]/u);
    expect(at.terminal.lines.every((line) => line.startsWith('10:31:04 '))).toBe(true);
  });
});

describe('JSON lines', () => {
  it('is one object per event with its fields as they are', async () => {
    const at = await stage({ json: true, isTTY: true });
    at.gauges = { ...idle, budgets: [{ service: 'followers', credential: 'app', limit: 15, used: 2, windowMs: 900_000 }] };
    at.reporter.event(page(412));
    at.reporter.event({ type: 'notice', level: 'warn', message: 'slow' });
    at.reporter.event({ type: 'crawl-failed', user: '@carol', crawl: 'c2', error: reason });
    expect(at.terminal.lines.map((line): unknown => JSON.parse(line))).toEqual([
      expect.objectContaining({ event: 'run-started' }),
      {
        level: 'info',
        time: '2026-03-10T10:31:04.000Z',
        event: 'page-written',
        user: '@alpha',
        crawl: 'c1',
        page: 412,
        ids: 5000,
        credential: 'app',
        left: 13,
        limit: 15,
        msg: '@alpha page 412: 5,000 ids',
      },
      { level: 'warn', time: '2026-03-10T10:31:04.000Z', event: 'notice', msg: 'slow' },
      expect.objectContaining({ level: 'error', event: 'crawl-failed', user: '@carol', error: reason }),
    ]);
  });

  it('has lanes and outages with their fields', async () => {
    const at = await stage({ json: true });
    for (const event of opened(2)) at.reporter.event(event);
    at.reporter.event({ type: 'lane-left', service: 'followers', lane: 2, reason: takenOver });
    at.reporter.event({ type: 'lane-left', service: 'books', lane: 0 });
    at.reporter.event(refused);
    at.reporter.event({ type: 'log-available', driver: 'kafka' });
    expect(at.terminal.lines.slice(1).map((line): unknown => JSON.parse(line))).toMatchObject([
      { level: 'info', event: 'lane-opened', service: 'followers', lane: 2, msg: 'followers lane 2: this process works it now' },
      { level: 'warn', event: 'lane-left', service: 'followers', lane: 2, reason: takenOver, msg: expect.stringContaining('host-b') },
      { level: 'info', event: 'lane-left', service: 'books', lane: 0 },
      { level: 'warn', event: 'log-unavailable', reason: 'connect ECONNREFUSED 127.0.0.1:9092' },
      { level: 'info', event: 'log-available', msg: 'kafka can be reached again' },
    ]);
  });

  it('writes every event, keeps hostile names exact, and sends no control character', async () => {
    const at = await stage({ json: true });
    for (const event of everyEvent) at.reporter.event(event);
    expect(at.terminal.lines).toHaveLength(everyEvent.length + 1);
    expect(at.terminal.text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202A-\u202E]/u);
    expect(JSON.parse(at.terminal.lines[1] ?? '')).toMatchObject({ event: 'crawl-started', user: hostile });
  });

  it('cuts what goes on for ever', async () => {
    const at = await stage({ json: true });
    const long = 'a'.repeat(1_000_000);
    at.reporter.event({ type: 'dead-letter', topic: 'books.dead-letters', key: long, error: { code: 'HEADGATE_X', message: long } });
    const cut = `${'a'.repeat(2_000)}…`;
    expect(JSON.parse(at.terminal.lines[1] ?? '')).toMatchObject({ key: cut, error: { code: 'HEADGATE_X', message: cut } });
  });
});

describe('the live display', () => {
  const busy = (now: number): RunGauges => ({
    budgets: [
      { service: 'followers', credential: 'app', limit: 15, used: 15, windowMs: 900_000, freeAt: now + 663_000 },
      { service: 'followers', credential: 'reader', limit: 15, used: 15, windowMs: 900_000, freeAt: now + 467_000 },
      { service: 'books', credential: 'pro', limit: 5, used: 1, windowMs: 1000 },
      { service: 'books', credential: 'pro', unit: 'isbns', limit: 5000, used: 3112, windowMs: 86_400_000 },
    ],
    credits: [{ service: 'followers', max: 20_000, used: 5000 }],
    activities: [
      activity('@alpha', 'waiting-for-budget', now + 467_000),
      activity('@beta', 'queued'),
      { service: 'books', subject: 'isbns', state: 'done' },
    ],
  });

  function playSome(at: Stage): void {
    at.gauges = busy(at.clock.now());
    at.reporter.event({ type: 'crawl-started', user: '@alpha', crawl: 'c1', page: 412, resumed: true, expectedPages: 1020 });
    at.reporter.event({ type: 'books-queued', isbns: 2400, authors: 0 });
    at.reporter.event({ type: 'books-written', found: 2388, missing: 12 });
    at.reporter.event(page(412));
    at.clock.pass(5000);
  }

  it('shows what each crawl does, what the budgets allow and what everything waits for', async () => {
    const at = await stage({ isTTY: true, columns: 100 });
    playSome(at);
    expect(at.terminal.screen()).toEqual([
      'headgate run   headgate.yaml   -> ./headgate.db                                            00:00:05',
      '',
      '  @alpha  ███████░░░░░░░░░░░  412 of ~1,020 pages  5,000 ids     next at 10:38:51, done 11:21:49',
      '  @beta                       first page                         waits for its turn',
      '  isbns   ██████████████████  2,400 of 2,400       12 not found  done',
      '',
      '  app          ██████████████████  15 / 15  next at 10:42:07',
      '  reader       ██████████████████  15 / 15  next at 10:38:51  <- everything waits for this',
      '  books (pro)  ████░░░░░░░░░░░░░░   1 / 5                     3,112 of 5,000 ISBNs today',
      '',
    ]);
  });

  it('says why nothing happens when the writer is full, and which command reads the dead letters', async () => {
    const at = await stage({ isTTY: true, readCommand: (topic) => `npm run headgate -- read ${topic}` });
    at.gauges = {
      ...idle,
      credits: [{ service: 'followers', max: 20_000, used: 20_000 }],
      activities: [activity('@alpha', 'waiting-for-downstream')],
    };
    at.reporter.event({ type: 'dead-letter', topic: 'followers.dead-letters', key: '@carol', error: reason });
    at.reporter.event({
      type: 'request',
      service: 'followers',
      credential: 'app',
      outcome: 'transient',
      subject: '@alpha',
      status: 503,
      retryInMs: 60_000,
    });
    at.clock.pass(400);
    const screen = at.terminal.screen();
    expect(screen[0]).toContain('10:31:04 @carol: the account is protected');
    expect(screen).toContain('  followers: 20,000 ids unwritten (full): no request until it catches up');
    expect(screen).toContain('  1 fault, the last at 10:31:04: @alpha 503, again at 10:32:04');
    expect(screen).toContain('  1 dead letter: npm run headgate -- read followers.dead-letters');
  });

  it('names its lanes where there are several, and only there', async () => {
    const at = await stage({ isTTY: true, columns: 100 });
    at.reporter.event({ type: 'lane-opened', service: 'followers', lane: 0 });
    at.reporter.event({ type: 'lane-opened', service: 'books', lane: 0 });
    at.clock.pass(1000);
    expect(at.terminal.screen()[0]).toMatch(/^headgate run {3}headgate.yaml {3}-> .\/headgate.db +00:00:01$/);
    for (const event of opened(1, 2, 3)) at.reporter.event(event);
    at.reporter.event({ type: 'lane-left', service: 'books', lane: 0 });
    at.clock.pass(1000);
    expect(at.terminal.screen()[0]).toMatch(/^headgate run {3}headgate.yaml {3}-> .\/headgate.db {3}lanes 0 1 2 3 +00:00:02$/);
  });

  it('cuts the header before the lanes', async () => {
    const at = await stage({ isTTY: true, columns: 50 });
    for (const event of opened(0, 1)) at.reporter.event(event);
    at.clock.pass(200);
    expect(at.terminal.screen()[0]).toBe('headgate run   headgate.ya…   lanes 0 1  00:00:00');
  });

  it('drops the crawls of a lane that was taken over, says who took it, and stands by', async () => {
    const at = await stage({ isTTY: true, columns: 160 });
    for (const event of opened(2)) at.reporter.event(event);
    at.reporter.event({ type: 'crawl-started', user: '@alpha', crawl: 'followers.requests-2-7', page: 1, resumed: false });
    at.clock.pass(200);
    expect(at.terminal.screen().join('\n')).toContain('@alpha');
    at.reporter.event({ type: 'lane-left', service: 'followers', lane: 2, reason: takenOver });
    at.clock.pass(200);
    at.reporter.event({ type: 'lanes-assigned', lanes: 0 });
    at.clock.pass(2400);
    const screen = at.terminal.screen();
    expect(screen[0]).toContain(
      '10:31:04 followers lane 2: process 12 on host-b (since 10:41:12) has taken this lane over; this process stopped',
    );
    expect(screen[1]).toContain('   no lane  ');
    expect(screen).toContain('  stands by: other processes of the group work all lanes');
    expect(screen.join('\n')).not.toMatch(/@alpha|nothing left to do/);
  });

  it('says nothing is left to do only while it holds a lane', async () => {
    const at = await stage({ isTTY: true });
    for (const event of opened(0)) at.reporter.event(event);
    at.clock.pass(2400);
    expect(at.terminal.screen()).toContain('  nothing left to do: waits for new requests');
    expect(at.terminal.text).not.toContain('stands by');
  });

  it('says that requests are held back, instead of that nothing is left to do', async () => {
    const at = await stage({ isTTY: true, columns: 160 });
    for (const event of opened(0)) at.reporter.event(event);
    at.reporter.event({ type: 'requests-held-back', service: 'followers', lane: 0, offset: 12, since: at.clock.now() });
    at.clock.pass(2400);
    const [line] = at.terminal.screen().filter((one) => /requests|nothing/.test(one));
    expect(line).toBe(
      "  followers.requests partition 0: since 10:31:04 another client's open transaction (offset 12) holds requests back; they are worked when it ends",
    );
    at.reporter.event({ type: 'requests-readable', service: 'followers', lane: 0 });
    at.clock.pass(2400);
    expect(at.terminal.screen().join('\n')).toMatch(/the transaction it waited for has ended[^]*nothing left to do/);
  });

  it.each([
    [
      160,
      ["  kafka can't be reached since 10:31:04, for 1 m 12 s (connect ECONNREFUSED 127.0.0.1:9092): nothing is lost, goes on by itself"],
    ],
    [
      80,
      [
        "  kafka can't be reached since 10:31:04, for 1 m 12 s:",
        '  nothing is lost, goes on by itself (connect ECONNREFUSED 127.0.0.1:9092)',
      ],
    ],
  ])('says in %d columns that the log is away, since when and why, instead of that nothing is left to do', async (columns, lines) => {
    const at = await stage({ isTTY: true, columns, color: true });
    for (const event of [...opened(0), refused]) at.reporter.event(event);
    at.clock.pass(72_000);
    const screen = at.terminal.screen();
    expect(screen.filter((line) => /kafka|nothing/.test(line))).toEqual(lines);
    expect(at.terminal.text).toContain("\u001B[33mkafka can't be reached");
    at.reporter.event({ type: 'log-available', driver: 'kafka' });
    at.clock.pass(200);
    expect(at.terminal.screen()[0]).toBe('10:32:16 kafka can be reached again after 1 m 12 s');
    expect(at.terminal.screen().join('\n')).not.toContain("can't be reached");
  });

  it.each([80, 60, 40, 20, 5, 1])('is never wider than %d columns nor higher than the terminal', async (columns) => {
    for (const rows of [24, 12, 6, 2]) {
      const at = await stage({ isTTY: true, columns, rows });
      playSome(at);
      const many = Array.from({ length: 200 }, (_, index) => activity(`@someone_with_a_long_name_${index}`, 'queued'));
      for (const event of [...opened(0, 1, 2, 3), refused]) at.reporter.event(event);
      at.gauges = { ...at.gauges, activities: [...at.gauges.activities, ...many, activity('@日本語日本語日本語日本語', 'asking')] };
      at.clock.pass(1000);
      const screen = at.terminal.screen();
      expect(Math.max(...screen.map((line) => line.length))).toBeLessThan(Math.max(columns, 2));
      expect(screen.filter((line, index) => line !== '' || index < screen.length - 1).length).toBeLessThan(rows + 1);
    }
  });

  it('sums up the crawls that have no room, working ones last', async () => {
    const at = await stage({ isTTY: true, rows: 12 });
    const queued = Array.from({ length: 40 }, (_, index) => activity(`@q${index}`, 'queued'));
    at.gauges = { ...idle, activities: [...queued, activity('@busy', 'asking')] };
    at.clock.pass(200);
    const screen = at.terminal.screen();
    expect(screen.some((line) => line.includes('@busy') && line.includes('asking'))).toBe(true);
    expect(screen).toContainEqual('  and 32 more: 32 queued');
  });

  it('is redrawn at most 5 times a second, however many events come, and not at all when nothing changes', async () => {
    const at = await stage({ isTTY: true });
    const before = at.terminal.writes.length;
    for (let number = 1; number <= 1000; number += 1) {
      at.reporter.event(page(number));
      at.reporter.event({ type: 'dead-letter', topic: 'books.dead-letters', key: String(number), error: reason });
      at.clock.pass(1);
    }
    // A redraw is one write, or two where lines come to stay.
    expect(at.terminal.writes.length - before).toBeLessThanOrEqual(10);
    at.clock.pass(1000);
    const quiet = at.terminal.writes.length;
    at.clock.pass(10_000);
    expect(at.terminal.writes.length - quiet).toBeLessThanOrEqual(11);
  });

  it('cleans up after itself: only the lines that are to stay are left', async () => {
    const at = await stage({ isTTY: true });
    playSome(at);
    at.reporter.event({ type: 'notice', level: 'warn', message: 'app: a 429 came' });
    at.reporter.close();
    const screen = at.terminal.screen();
    expect(screen[0]).toBe('10:31:09 app: a 429 came');
    expect(screen.slice(1).every((line) => line === '')).toBe(true);
    expect(at.clock.timers).toBe(0);
    expect(at.terminal.text).not.toContain('\u001B[?25l');
    at.clock.pass(5000);
    expect(at.terminal.screen()).toEqual(screen);
  });

  it('leaves an empty screen where nothing was to stay', async () => {
    const at = await stage({ isTTY: true });
    playSome(at);
    expect(at.terminal.screen().join('')).toContain('@alpha');
    at.reporter.close();
    expect(at.terminal.screen().join('')).toBe('');
  });

  it('colours only what it is asked to', async () => {
    const plain = await stage({ isTTY: true });
    playSome(plain);
    // eslint-disable-next-line no-control-regex
    expect(plain.terminal.text).not.toMatch(/\u001B\[\d*m/);
    const coloured = await stage({ isTTY: true, color: true });
    playSome(coloured);
    expect(coloured.terminal.text).toContain('\u001B[32mdone\u001B[39m');
    expect(coloured.terminal.text).toContain('\u001B[33m<- everything waits for this\u001B[39m');
    expect(coloured.terminal.screen()).toEqual(plain.terminal.screen());
  });

  it('obeys no escape sequence of a hostile name', async () => {
    const at = await stage({ isTTY: true, header: hostile });
    at.gauges = {
      ...idle,
      activities: [activity(hostile, 'asking')],
      budgets: [{ service: 'books', credential: hostile, limit: 1, used: 0, windowMs: 1000 }],
    };
    for (const event of everyEvent) at.reporter.event(event);
    at.clock.pass(1000);
    // eslint-disable-next-line no-control-regex
    const rest = at.terminal.text.replaceAll(/\u001B\[(?:\?2026[hl]|\d*[ABGK])|\n/g, '');
    expect(rest).not.toMatch(/[\p{Cc}\u202A-\u202E]/u);
  });

  it('can be turned off on a terminal', async () => {
    const at = await stage({ isTTY: true, live: false });
    at.reporter.event(page(1));
    expect(at.terminal.lines.at(-1)).toBe('10:31:04 @alpha page 1: 5,000 ids');
  });
});

it('goes on working when nobody reads it any more', async () => {
  const at = await stage();
  at.terminal.emit('error', Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
  at.reporter.event(page(1));
  expect(at.terminal.lines.at(-1)).toContain('page 1');
});
