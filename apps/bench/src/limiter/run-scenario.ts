import { type CellResult, runCell } from './cell.ts';
import { fakeGlobals } from './fake-globals.ts';
import { LIMITERS } from './limiters.ts';
import type { Scenario } from './scenario.ts';
import { world as makeWorld } from './world.ts';

export interface ScenarioTask {
  readonly scenario: Scenario;
  readonly peers: string;
  readonly seed: number;
  readonly durationMs: number;
}

/** Runs one simulation. It replaces the time of this process, which must not do anything else. */
export async function runScenario({ scenario, peers, seed, durationMs }: ScenarioTask): Promise<CellResult> {
  const open = LIMITERS[scenario.limiter];
  if (open === undefined)
    throw new RangeError(`There is no limiter ${scenario.limiter}. Choose one of ${Object.keys(LIMITERS).join(', ')}.`);
  let world = makeWorld();
  // Fake the globals before importing the peers, because some peers keep a reference to the globals.
  fakeGlobals(() => world);
  const gate = await open(peers);
  const { servers, heeds = false } = scenario;
  const run = (some: Scenario['servers']): Promise<CellResult> => {
    world = makeWorld();
    return runCell({ ...scenario, ...scenario.budget, world, gate, servers: some, seed, durationMs });
  };
  if (!heeds) return run(servers);
  // With `heeds`, answers depend on the server, so each server needs its own run.
  const results: CellResult[] = [];
  for (const server of servers) results.push(await run([server]));
  const [first] = results;
  if (first === undefined) throw new RangeError('a scenario needs at least one server');
  return { ...first, servers: results.flatMap((result) => result.servers) };
}
