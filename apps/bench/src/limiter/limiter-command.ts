import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import type { CellResult } from './cell.ts';
import { limiterReport, type ScenarioResult } from './limiter-report.ts';
import type { ScenarioTask } from './run-scenario.ts';
import { type Scenario, scenarios } from './scenario.ts';

/**
 * Runs every simulation in its own process, and returns the report. `program` takes a task as JSON, and prints its result as JSON. `only`
 * selects limiters whose name contains it, in any case.
 */
export async function limiterCommand(
  program: readonly string[],
  peers: string,
  seed: number,
  durationMs: number,
  only: string,
  say: (text: string) => void,
): Promise<string> {
  const wanted = scenarios().filter(({ limiter }) => limiter.toLowerCase().includes(only.toLowerCase()));
  const left = [...wanted];
  const results = new Map<Scenario, ScenarioResult>();
  const startedAt = performance.now();

  const worker = async (): Promise<void> => {
    for (let scenario = left.shift(); scenario !== undefined; scenario = left.shift()) {
      const simulatedMs = Math.min(durationMs, scenario.longestMs);
      const result = await inChild(program, { scenario, peers, seed, durationMs: simulatedMs });
      results.set(scenario, { scenario, result, simulatedMs });
      say(`${results.size}/${wanted.length} ${scenario.group}, ${scenario.budget.name}, ${scenario.latency}: ${scenario.limiter}`);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, availableParallelism()) }, worker));
  say(`took ${Math.round((performance.now() - startedAt) / 1000)} s`);
  return limiterReport(wanted.flatMap((scenario) => results.get(scenario) ?? []));
}

async function inChild(program: readonly string[], task: ScenarioTask): Promise<CellResult> {
  const { stdout } = await promisify(execFile)(process.execPath, [...program, JSON.stringify(task)]);
  return JSON.parse(stdout) as CellResult;
}
