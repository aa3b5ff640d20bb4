import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import type { CellResult } from './cell.ts';
import { limiterReport, type ScenarioResult } from './limiter-report.ts';
import type { ScenarioTask } from './run-scenario.ts';
import { type Scenario, scenarios } from './scenario.ts';

export interface LimiterCommandOptions {
  /** The program that runs a task given as JSON and prints its result as JSON. */
  readonly program: readonly string[];
  readonly peers: string;
  readonly seed: number;
  readonly durationMs: number;
  readonly markdown: boolean;
  readonly json: boolean;
  /** Only limiters whose name contains this text, in any case. Default: all. */
  readonly only?: string;
  readonly say: (text: string) => void;
}

/** Runs every simulation in its own process, and returns the report. */
export async function limiterCommand(options: LimiterCommandOptions): Promise<string> {
  const { peers, seed, durationMs, markdown, json, only = '', say } = options;
  const wanted = scenarios().filter(({ limiter }) => limiter.toLowerCase().includes(only.toLowerCase()));
  const left = [...wanted];
  const results = new Map<Scenario, ScenarioResult>();
  const startedAt = performance.now();

  const worker = async (): Promise<void> => {
    for (let scenario = left.shift(); scenario !== undefined; scenario = left.shift()) {
      const simulatedMs = Math.min(durationMs, scenario.longestMs);
      const result = await inChild(options.program, { scenario, peers, seed, durationMs: simulatedMs });
      results.set(scenario, { scenario, result, simulatedMs });
      say(`${results.size}/${wanted.length} ${scenario.group}, ${scenario.budget.name}, ${scenario.latency}: ${scenario.limiter}`);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, availableParallelism()) }, worker));
  say(`took ${Math.round((performance.now() - startedAt) / 1000)} s`);
  const inOrder = wanted.flatMap((scenario) => results.get(scenario) ?? []);
  return json ? `${JSON.stringify(inOrder)}\n` : limiterReport({ results: inOrder, markdown });
}

async function inChild(program: readonly string[], task: ScenarioTask): Promise<CellResult> {
  const [command = process.execPath, ...args] = program;
  const { stdout } = await promisify(execFile)(command, [...args, JSON.stringify(task)], { maxBuffer: 16 * 1024 * 1024 });
  return JSON.parse(stdout) as CellResult;
}
