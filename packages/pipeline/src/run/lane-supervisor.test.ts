import { virtualClock } from '@headgate/throttle/testing';
import { LaneLostError } from '@headgate/topics';
import { describe, expect, it } from 'vitest';
import type { RunEvent } from '../events/events.ts';
import { LaneSupervisor } from './lane-supervisor.ts';
import type { PipelineLane } from './pipeline-lane.ts';

const place = (partition: number) => ({ topic: 'shelves.requests', partition });
const turns = async (): Promise<void> => {
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
};

/** Creates a supervisor whose lanes note calls in `said`, and run until the test settles their promise in `running`. */
function stage({ follow = true, given }: { readonly follow?: boolean; readonly given?: Promise<void> } = {}) {
  const clock = virtualClock();
  const stop = new AbortController();
  const closed = new AbortController();
  const said: string[] = [];
  const events: RunEvent[] = [];
  const running = new Map<number, PromiseWithResolvers<void>>();
  const refusals: Error[] = [];
  const supervisor = new LaneSupervisor({
    lanes: 2,
    laneOf: ({ partition }) => ({ pipeline: 'shelves', lane: partition }),
    follow,
    signal: stop.signal,
    closed: closed.signal,
    clock,
    emit: (event) => void events.push(event),
    async open({ lane }) {
      said.push(`open ${lane}`);
      const refusal = refusals.shift();
      if (refusal !== undefined) throw refusal;
      const over = Promise.withResolvers<void>();
      running.set(lane, over);
      return {
        hadJobs: false,
        run: (signal) => {
          said.push(`run ${lane}`);
          if (signal.aborted) over.resolve();
          signal.addEventListener('abort', () => over.resolve(), { once: true });
          return over.promise;
        },
        confirm: () => void said.push(`confirm ${lane}`),
        gauges: () => ({ budgets: [], credits: [], work: [], lanes: [], outages: [] }),
        lost: () => undefined,
        left: () => ({ pipeline: 'any', lane, walks: [], keys: 0, keysPerRequest: 1, budgets: [] }),
        close: async () => {
          if (given !== undefined) await given;
          said.push(`close ${lane}`);
        },
      } satisfies PipelineLane;
    },
  });
  return { supervisor, clock, stop, closed, said, events, running, refusals };
}

describe('LaneSupervisor', () => {
  it('does not treat a lane that is revoked while it opens as a failure, and waits at the start for one that is assigned meanwhile', async () => {
    const opening: PromiseWithResolvers<never>[] = [];
    const supervisor = new LaneSupervisor({
      lanes: 2,
      laneOf: ({ partition }) => ({ pipeline: 'shelves', lane: partition }),
      follow: true,
      signal: new AbortController().signal,
      closed: new AbortController().signal,
      clock: virtualClock(),
      emit: () => undefined,
      open(_, signal) {
        const open = Promise.withResolvers<never>();
        opening.push(open);
        signal.addEventListener('abort', () => open.reject(signal.reason));
        return open.promise;
      },
    });
    supervisor.assign([place(0)]);
    let outcome: unknown;
    const opened = supervisor.opened().then(
      () => (outcome = 'opened'),
      (error: unknown) => (outcome = error),
    );
    await turns();
    supervisor.assign([place(1)]);
    await turns();
    expect([opening.length, outcome]).toEqual([2, undefined]);
    supervisor.assign([]);
    await opened;
    expect(outcome).toBe('opened');
    await supervisor.close();
  });

  it('works the assigned lanes, releases revoked ones, and takes new ones', async () => {
    const { supervisor, said, events, stop } = stage();
    supervisor.assign([place(0), place(1)]);
    await supervisor.opened();
    expect(said).toEqual(['open 0', 'open 1']);
    const run = supervisor.run();
    await turns();
    supervisor.assign([place(1), place(2)]);
    await turns();
    expect(said.slice(2)).toEqual(['run 0', 'run 1', 'close 0', 'open 2', 'run 2']);
    stop.abort();
    expect(await run).toEqual([]);
    expect(said.slice(7)).toEqual(['close 1', 'close 2']);
    expect(events).toEqual([
      { type: 'lanes-assigned', lanes: 2 },
      { type: 'lane-opened', pipeline: 'shelves', lane: 0 },
      { type: 'lane-opened', pipeline: 'shelves', lane: 1 },
      { type: 'lane-left', pipeline: 'shelves', lane: 0 },
      { type: 'lane-opened', pipeline: 'shelves', lane: 2 },
    ]);
  });

  it('takes a returning lane only after its release', async () => {
    const given = Promise.withResolvers<void>();
    const { supervisor, said, stop } = stage({ given: given.promise });
    supervisor.assign([place(0)]);
    await supervisor.opened();
    const run = supervisor.run();
    await turns();
    supervisor.assign([]);
    supervisor.assign([place(0)]);
    await turns();
    expect(said).toEqual(['open 0', 'run 0']);
    given.resolve();
    await turns();
    expect(said).toEqual(['open 0', 'run 0', 'close 0', 'open 0', 'run 0']);
    stop.abort();
    await run;
  });

  it('reports who has taken a lane over, and takes it again only while the group assigns it', async () => {
    const { supervisor, clock, said, events, running, stop } = stage();
    supervisor.assign([place(0)]);
    await supervisor.opened();
    const run = supervisor.run();
    await turns();
    supervisor.doubt();
    running.get(0)?.reject(new LaneLostError({ lane: 'x', by: 'process 7 on b' }));
    await turns();
    expect(events.at(-1)).toEqual({ type: 'lane-left', pipeline: 'shelves', lane: 0, reason: 'process 7 on b has taken it over' });
    await clock.advance(60_000);
    supervisor.doubt();
    expect(said).toEqual(['open 0', 'run 0', 'close 0']);
    supervisor.assign([place(0)]);
    await turns();
    expect(said).toEqual(['open 0', 'run 0', 'close 0', 'open 0', 'run 0']);
    stop.abort();
    expect(await run).toEqual([]);
  });

  it('keeps working held lanes while the group is silent, and confirms them when it responds again', async () => {
    const { supervisor, said, stop } = stage();
    supervisor.assign([place(0)]);
    await supervisor.opened();
    const run = supervisor.run();
    await turns();
    supervisor.assign([place(0)]);
    supervisor.doubt();
    await turns();
    expect(said).toEqual(['open 0', 'run 0']);
    supervisor.assign([place(0)]);
    expect(said).toEqual(['open 0', 'run 0', 'confirm 0']);
    stop.abort();
    await run;
  });

  it('ends when nothing is left, unless it follows; reports a failed lane, and the others continue', async () => {
    const { supervisor, running, said, events } = stage({ follow: false });
    supervisor.assign([place(0), place(1)]);
    await supervisor.opened();
    const run = supervisor.run();
    await turns();
    const failure = new Error('the last credential is gone');
    running.get(0)?.reject(failure);
    await turns();
    expect(said.at(-1)).toBe('close 0');
    const told = {
      type: 'lane-left',
      pipeline: 'shelves',
      lane: 0,
      failed: true,
      reason: expect.stringContaining(failure.message) as string,
    };
    expect(events.at(-1)).toEqual(told);
    running.get(1)?.reject(failure);
    expect(await run).toEqual([failure, failure]);
    // The run's result reports the last failed lane, so no event follows.
    expect(events.at(-1)).toEqual(told);
  });

  it('takes lanes assigned while others are active, even without following, and after a failure', async () => {
    for (const follow of [false, true]) {
      const { supervisor, running, said, stop } = stage({ follow });
      supervisor.assign([place(0), place(1)]);
      await supervisor.opened();
      const run = supervisor.run();
      await turns();
      const failure = new Error('the last credential is gone');
      if (follow) running.get(0)?.reject(failure);
      supervisor.assign([place(1)]);
      await turns();
      supervisor.assign([place(0), place(1)]);
      await turns();
      expect(said.slice(-3)).toEqual(['close 0', 'open 0', 'run 0']);
      stop.abort();
      await run;
    }
  });

  it('ends while following when its last lane has failed, but not for lack of lanes', async () => {
    const { supervisor, running, clock } = stage();
    supervisor.assign([]);
    await supervisor.opened();
    let ended = false;
    const run = supervisor.run().finally(() => (ended = true));
    await clock.advance(60_000);
    supervisor.assign([place(0)]);
    await turns();
    expect(ended).toBe(false);
    const failure = new Error('the last credential is gone');
    running.get(0)?.reject(failure);
    expect(await run).toEqual([failure]);
  });

  it('without follow, ends if others hold all lanes, once lanes of dead processes would have been assigned', async () => {
    const { supervisor, events, clock } = stage({ follow: false });
    supervisor.assign([]);
    await supervisor.opened();
    let ended = false;
    const run = supervisor.run().finally(() => (ended = true));
    await clock.advance(7_900);
    expect(ended).toBe(false);
    await clock.advance(200);
    expect(await run).toEqual([]);
    expect(events).toMatchObject([{ type: 'lanes-assigned' }, { type: 'notice' }, { type: 'lanes-elsewhere', lanes: 2 }]);
  });

  it('reports at its end that other processes worked other lanes, unless it was stopped', async () => {
    for (const stopped of [false, true]) {
      const { supervisor, running, events, clock, stop } = stage({ follow: false });
      supervisor.assign([place(1)]);
      await supervisor.opened();
      const run = supervisor.run();
      await turns();
      if (stopped) stop.abort();
      else running.get(1)?.resolve();
      await clock.advance(20_000);
      expect(await run).toEqual([]);
      expect(events.filter(({ type }) => type === 'lanes-elsewhere')).toEqual(stopped ? [] : [{ type: 'lanes-elsewhere', lanes: 1 }]);
    }
  });

  it('takes no lane assigned at the end, while one is still being released', async () => {
    const given = Promise.withResolvers<void>();
    const { supervisor, clock, said } = stage({ follow: false, given: given.promise });
    supervisor.assign([place(0)]);
    await supervisor.opened();
    const run = supervisor.run();
    await turns();
    supervisor.assign([]);
    await clock.advance(60_000);
    supervisor.assign([place(1)]);
    await turns();
    given.resolve();
    expect(await run).toEqual([]);
    expect(said).toEqual(['open 0', 'run 0', 'close 0']);
  });

  it('works the lanes of dead processes when they are assigned, even after its own are done', async () => {
    const { supervisor, running, said, clock } = stage({ follow: false });
    supervisor.assign([place(0)]);
    await supervisor.opened();
    const run = supervisor.run();
    await turns();
    running.get(0)?.resolve();
    await clock.advance(7_900);
    supervisor.assign([place(0), place(1)]);
    await turns();
    expect(said.slice(-2)).toEqual(['open 1', 'run 1']);
    await clock.advance(20_000);
    supervisor.assign([place(1)]);
    supervisor.assign([place(0), place(1)]);
    await turns();
    expect(said.slice(-2)).toEqual(['open 0', 'run 0']);
    for (const one of running.values()) one.resolve();
    expect(await run).toEqual([]);
  });

  it('refuses to start if a lane cannot be opened, and releases the others', async () => {
    const { supervisor, refusals, said } = stage();
    refusals.push(new Error('held'));
    supervisor.assign([place(0), place(1)]);
    await expect(supervisor.opened()).rejects.toThrow('held');
    expect(said).toContain('close 1');
  });

  it('starts without a lane that was revoked before it was opened', async () => {
    const { supervisor, said } = stage();
    supervisor.assign([place(0)]);
    const opened = supervisor.opened();
    supervisor.assign([]);
    await opened;
    expect(said).toEqual([]);
    await supervisor.close();
  });

  it('reports a later lane that cannot be opened, and continues', async () => {
    const { supervisor, refusals, events, said, stop } = stage();
    supervisor.assign([place(0)]);
    await supervisor.opened();
    const run = supervisor.run();
    await turns();
    const refusal = new Error('the topic is gone');
    refusals.push(refusal);
    supervisor.assign([place(0), place(1)]);
    await turns();
    expect(events.at(-1)).toEqual({ type: 'lane-left', pipeline: 'shelves', lane: 1, reason: refusal.message, failed: true });
    stop.abort();
    expect(await run).toEqual([refusal]);
    expect(said).toEqual(['open 0', 'run 0', 'open 1', 'close 0']);
  });

  it.each(['the group', 'a stop'])('does not fail because of a lane that can’t be released normally, if it ends by %s', async (by) => {
    const { supervisor, stop, events } = stage({ given: Promise.reject(new Error('the log is gone')) });
    supervisor.assign([place(0)]);
    await supervisor.opened();
    const run = supervisor.run();
    await turns();
    if (by === 'the group') supervisor.assign([]);
    else stop.abort();
    await turns();
    stop.abort();
    expect(await run).toEqual([]);
    expect(events.filter(({ type }) => type === 'lane-left')).toEqual([]);
  });

  it('ends at once if it was stopped before it began', async () => {
    const { supervisor, said, stop } = stage();
    supervisor.assign([place(0)]);
    await supervisor.opened();
    stop.abort();
    expect(await supervisor.run()).toEqual([]);
    expect(said.at(-1)).toBe('close 0');
  });

  it('ends all work when the membership fails', async () => {
    const { supervisor, said } = stage();
    supervisor.assign([place(0)]);
    await supervisor.opened();
    const run = supervisor.run();
    await turns();
    const failure = new Error('other lanes');
    supervisor.fail(failure);
    expect(await run).toEqual([failure]);
    expect(said.at(-1)).toBe('close 0');
  });
});
