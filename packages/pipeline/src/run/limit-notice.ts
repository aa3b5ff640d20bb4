import type { LimitMismatch } from '@headgate/sources';
import type { Pipeline } from '../definition/pipeline.ts';
import type { RunEvent } from '../events/events.ts';

/**
 * Creates the notice for a service whose responses state a limit other than the configured one. Names the option to change, if the pipeline
 * has an option for that limit.
 */
export function limitNotice(
  { name, options }: { readonly name: string; readonly options: readonly string[] },
  { budget, configured, stated }: LimitMismatch,
): Extract<RunEvent, { type: 'notice' }> {
  const { requests } = stated;
  const usual = budget === 'rate' ? 'limit' : 'budgets';
  const path = usual === 'limit' ? `${name}.limit` : `${name}.budgets.${budget}`;
  const option = options.includes(usual) ? path : `the budget ${budget} of ${name}`;
  const isOver = requests < configured.requests;
  const cure = isOver
    ? `the service refuses requests beyond its own limit. Set ${option} to the service's.`
    : `so part of the budget stays unused. Set ${option} to the service's, unless you leave the rest to other programs on purpose.`;
  const message =
    `${name}: the service reports ${requests.toLocaleString('en-US')} requests in a window, but ${option} is ${configured.requests.toLocaleString('en-US')} in ` +
    `${length(configured.windowMs)}: ${cure}`;
  return { type: 'notice', level: isOver ? 'warn' : 'info', message };
}

/** Creates the notice for a service that keeps refusing requests although the configured limit permits them. */
export function refusalNotice(
  { name, options }: Pick<Pipeline, 'name' | 'options'>,
  { sent, refused }: { readonly sent: number; readonly refused: number },
): Extract<RunEvent, { type: 'notice' }> {
  const { limit, budgets } = Object(options) as Readonly<Record<string, unknown>>;
  const setting = limit !== undefined ? `${name}.limit` : budgets !== undefined ? `${name}.budgets` : `the limit of ${name}`;
  const message =
    `${name}: the service refused ${refused} of ${sent.toLocaleString('en-US')} requests because of its rate limit. It allows less than ${setting} says, ` +
    `or another program uses the credential. Lower ${setting} to the service's own limit, or give each program its own credential. ` +
    'Later refusals are only counted.';
  return { type: 'notice', level: 'warn', message };
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/** Formats a duration in the largest unit in which it is at least 1, rounded up to a tenth. */
function length(ms: number): string {
  const [unit, unitMs] = UNITS.find(([, each]) => ms >= each) ?? ['ms', 1];
  return `${Math.ceil((ms / unitMs) * 10) / 10} ${unit}`;
}
