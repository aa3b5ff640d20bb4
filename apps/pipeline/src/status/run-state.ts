import type { RunView } from './run-view.ts';
import type { Fault } from './screen.ts';
import type { Tone } from './text/table.ts';
import { countWords } from './text/number-words.ts';
import type { TimeWords } from './text/time-words.ts';
import { isIdle, type Wait } from './format-row.ts';

export interface RunState {
  readonly kind: 'starting' | 'running' | 'waiting' | 'idle' | 'degraded' | 'stopping' | 'done' | 'stopped' | 'failed';
  /** `running`, `waiting until 10:38:51`, `degraded: kafka can't be reached`. */
  readonly words: string;
  readonly tone?: Tone;
}

/** Waits for windows shorter than this are part of normal work, so the state stays `running`. */
const WORTH_TELLING_MS = 10_000;

export function runState(view: RunView, [fault, ...others]: readonly Fault[], waits: readonly Wait[], times: TimeWords): RunState {
  const { outcome, deadLetters } = view;
  if (outcome === 'done') {
    if (deadLetters.total === 0) return { kind: 'done', words: 'done', tone: 'good' };
    return { kind: 'done', words: `done, with ${countWords(deadLetters.total, 'dead letter')}`, tone: 'wait' };
  }
  if (outcome === 'failed') return { kind: 'failed', words: 'failed', tone: 'bad' };
  if (outcome === 'stopped') return { kind: 'stopped', words: 'stopped' };
  if (view.isStopping) return { kind: 'stopping', words: 'stopping', tone: 'wait' };
  if (fault !== undefined) {
    const more = others.length === 0 ? '' : `, and ${others.length} more`;
    return { kind: 'degraded', words: `degraded: ${fault.short}${more}`, tone: fault.tone };
  }
  if (!view.isStarted) return { kind: 'starting', words: 'starting' };
  if (isIdle(view))
    return { kind: 'idle', words: view.lanes.length === 0 && !view.isDoneHere ? 'standing by' : 'idle: nothing left to do' };
  const wait = waitWords(view, waits, times);
  return wait === undefined ? { kind: 'running', words: 'running', tone: 'good' } : { kind: 'waiting', words: wait, tone: 'wait' };
}

/** `waiting until 10:38:51`, if all active work waits for budgets with long windows. */
function waitWords(view: RunView, waits: readonly Wait[], times: TimeWords): string | undefined {
  const pipelines = new Set(view.work.flatMap((row) => (row.doing === undefined ? [] : row.pipeline)));
  const holding = waits.map(({ budget }) => budget);
  if (holding.length < Math.max(1, pipelines.size) || holding.some(({ windowMs }) => windowMs < WORTH_TELLING_MS)) return undefined;
  const until = Math.min(...holding.map(({ freeAt = Infinity }) => freeAt));
  return until === Infinity ? 'waiting' : `waiting until ${times.when(until, view.now)}`;
}
