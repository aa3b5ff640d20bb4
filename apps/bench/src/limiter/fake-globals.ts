import type { World } from './world.ts';

/**
 * Permanently replaces the process's timers, `Date`, `performance.now` and `process.hrtime` with those of the current world. Use it only in
 * a process that does nothing but simulate.
 */
export function fakeGlobals(world: () => World): void {
  const timeout = (callback: (...args: unknown[]) => void, delayMs = 0, ...args: unknown[]): FakeTimer => {
    const cancel = world().timer(delayMs, () => callback(...args));
    return new FakeTimer(cancel);
  };
  const interval = (callback: (...args: unknown[]) => void, delayMs = 0, ...args: unknown[]): FakeTimer => {
    let cancel = (): void => undefined;
    const again = (): void => {
      cancel = world().timer(delayMs, () => {
        again();
        callback(...args);
      });
    };
    again();
    return new FakeTimer(() => cancel());
  };
  const immediate = (callback: (...args: unknown[]) => void, ...args: unknown[]): FakeTimer =>
    new FakeTimer(world().at(world().nowMs(), () => callback(...args)));
  const clear = (timer: unknown): void => {
    if (timer instanceof FakeTimer) timer.cancel();
  };

  const RealDate = Date;
  class FakeDate extends RealDate {
    constructor(...args: readonly unknown[]) {
      // @ts-expect-error The constructor's overloads take no spread.
      super(...(args.length === 0 ? [FakeDate.now()] : args));
    }
    static override now(): number {
      return Math.floor(world().epochMs());
    }
  }
  const nanoseconds = (): bigint => BigInt(Math.round(world().nowMs() * 1e6));
  const hrtime = (since: readonly [number, number] = [0, 0]): [number, number] => {
    const ns = nanoseconds() - (BigInt(since[0]) * 1_000_000_000n + BigInt(since[1]));
    return [Number(ns / 1_000_000_000n), Number(ns % 1_000_000_000n)];
  };

  Object.assign(globalThis, {
    setTimeout: timeout,
    clearTimeout: clear,
    setInterval: interval,
    clearInterval: clear,
    setImmediate: immediate,
    clearImmediate: clear,
    Date: FakeDate,
  });
  Object.defineProperty(globalThis.performance, 'now', { value: () => world().nowMs() });
  Object.defineProperty(process, 'hrtime', { value: Object.assign(hrtime, { bigint: nanoseconds }) });
}

/** A fake timer, with methods of Node's timers that have no effect here. */
class FakeTimer {
  readonly cancel: () => void;
  constructor(cancel: () => void) {
    this.cancel = cancel;
  }
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  hasRef(): boolean {
    return true;
  }
}
