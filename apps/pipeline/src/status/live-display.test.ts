import { virtualClock } from '@headgate/throttle/testing';
import { expect, test } from 'vitest';
import { FakeTerminal } from './fake-terminal.fixture.ts';
import { createLiveDisplay } from './live-display.ts';
import { busyView } from './page/busy-view.fixture.ts';

test('the terminal is redrawn five times a second while events arrive, and once a second otherwise', async () => {
  const clock = virtualClock();
  const terminal = new FakeTerminal({ isTTY: true, columns: 100 });
  let views = 0;
  const display = createLiveDisplay({
    stderr: terminal,
    clock,
    view: () => busyView({ now: clock.epochMs() + (views += 1) }),
    units: {},
    header: 'headgate run',
    color: false,
    commandFor: (_, topic) => topic,
    timeZone: 'UTC',
  });
  const drawn = async (ms: number, onStep: () => void = () => undefined): Promise<number> => {
    const before = views;
    for (let passed = 0; passed < ms; passed += 100) {
      onStep();
      await clock.advance(100);
    }
    return views - before;
  };
  expect(views).toBe(1);
  expect(await drawn(10_000)).toBe(10);
  expect(await drawn(10_000, () => display.event({ type: 'notice', level: 'info', message: 'news' }))).toBe(50);
  expect(await drawn(10_000)).toBeLessThanOrEqual(11);
  display.event({ type: 'notice', level: 'warn', message: 'the last of all' });
  display.close();
  expect(terminal.text).toContain('the last of all');
  expect(clock.pending).toBe(0);
});

test('the ^C that a terminal echoes goes with the next frame, or with the last one', async () => {
  const clock = virtualClock();
  const terminal = new FakeTerminal({ isTTY: true, columns: 100 });
  const view = () => busyView({ now: clock.epochMs() });
  const about = { stderr: terminal, clock, units: {}, header: 'headgate run', color: false, timeZone: 'UTC' } as const;
  const display = createLiveDisplay({ ...about, view, commandFor: (_, topic) => topic });
  for (const ms of [50, 150, 1_000]) {
    terminal.write('^C');
    display.event({ type: 'notice', level: 'warn', message: 'news' });
    await clock.advance(ms);
  }
  terminal.write('^C');
  display.close();
  const screen = terminal.screen().filter((line) => line !== '');
  expect(screen.length).toBeGreaterThan(0);
  expect(screen.filter((line) => !line.endsWith('news'))).toEqual([]);
});
