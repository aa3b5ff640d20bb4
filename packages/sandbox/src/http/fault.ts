import { checkNumbers } from '../option-number.ts';
import { SandboxOptionError } from '../sandbox-option-error.ts';

/** Names of all faults, as `parseFault` reads them. */
export const faultNames = [
  '429',
  '503',
  'html',
  'html-503',
  'reset',
  'cut',
  'truncated',
  'drip',
  'hang',
  'oversize',
  'cursor-loop',
  'no-cursor',
  'clock-skew',
] as const;

/** The name of a fault. */
export type FaultName = (typeof faultNames)[number];

/** The requests that a fault is applied to. */
export interface FaultPlace {
  /**
   * Number of the first request that the fault is applied to; retries count. Default 1: the first request that this sandbox reads or, with
   * `setFaults`, the next one.
   */
  readonly at?: number;
  /**
   * Number of requests in a row that the fault is applied to, or Infinity for all that follow. Default 1, and Infinity for `clock-skew`.
   */
  readonly times?: number;
}

/** A fault, and the requests that it is applied to. */
export type Fault = FaultPlace &
  (
    | {
        /** A refusal that the requests counted so far don't explain. */
        readonly name: '429';
        /** Wait in milliseconds. It is sent as `retry-after` in whole seconds, rounded up, and followers get the same reset. Default: no header. */
        readonly retryAfterMs?: number;
      }
    | {
        /** The service is over its capacity. */
        readonly name: '503';
        /** The status sent; default 503. */
        readonly status?: 500 | 502 | 503 | 504;
      }
    | {
        /** The body arrives one byte at a time. */
        readonly name: 'drip';
        /** Milliseconds between two bytes; default 1000. */
        readonly intervalMs?: number;
      }
    | {
        /** A body far larger than a page needs; valid JSON to its end. */
        readonly name: 'oversize';
        /** Minimum bytes of padding; default 300,000,000. */
        readonly bytes?: number;
      }
    | {
        /** The service's clock is wrong, for example in its `date` header. */
        readonly name: 'clock-skew';
        /** Minutes by which the service's clock is ahead; negative if it is slow. Default 20. */
        readonly minutes?: number;
      }
    | {
        /**
         * `html`, `html-503`: a page of HTML, with status 200 or 503. `reset`: the connection is reset after the request was read. `cut`: the
         * connection ends in the middle of the body. `truncated`: a whole response whose JSON ends in the middle. `hang`: no response.
         * `cursor-loop`: the next cursor leads back to a page that was already requested (followers only). `no-cursor`: the next cursor is
         * null (followers only).
         */
        readonly name: 'html' | 'html-503' | 'reset' | 'cut' | 'truncated' | 'hang' | 'cursor-loop' | 'no-cursor';
      }
  );

/**
 * Reads a fault from its form on a command line: `cut@3` is applied to the third request, `hang@5x2` to the fifth and sixth. Throws
 * `SandboxOptionError` for any other text.
 */
export function parseFault(text: string): Fault {
  const [, name, at, times] = /^([^@]*)@([1-9]\d{0,14})(?:x([1-9]\d{0,14}))?$/u.exec(text.trim()) ?? [];
  if (name === undefined || at === undefined) {
    throw new SandboxOptionError(
      `"${text}" isn't a fault: write NAME@REQUEST or NAME@REQUESTxTIMES, such as cut@3 or hang@5x2. ${knownNames()}`,
    );
  }
  const known = faultNames.find((candidate) => candidate === name);
  if (known === undefined) throw new SandboxOptionError(`"${name}" in "${text}" isn't the name of a fault. ${knownNames()}`);
  return { name: known, at: Number(at), ...(times === undefined ? {} : { times: Number(times) }) };
}

/** Returns the fault for a request by its number; the first in the list if there are several. */
export type FaultPlan = (requestNumber: number) => Fault | undefined;

/** Checks faults and creates their plan. Throws `SandboxOptionError` for an invalid fault, or for a name in `refused`. */
export function planFaults(faults: readonly Fault[], refused: readonly FaultName[] = []): FaultPlan {
  for (const fault of faults) {
    const { name, at = 1 } = fault;
    if (!faultNames.includes(name)) throw new SandboxOptionError(`"${name}" isn't the name of a fault. ${knownNames()}`);
    if (refused.includes(name)) throw new SandboxOptionError(`The fault ${name} isn't available for this service; remove it.`);
    checkNumbers({ [`at of the fault ${name}`]: at }, { least: 1 });
    checkNumbers({ [`times of the fault ${name}`]: timesOf(fault) }, { least: 1, most: Infinity });
    const {
      retryAfterMs = 0,
      intervalMs = 0,
      bytes = 0,
      minutes = 0,
    } = fault as { [Name in 'retryAfterMs' | 'intervalMs' | 'bytes' | 'minutes']?: unknown };
    checkNumbers({ retryAfterMs, intervalMs, bytes }, { least: 0 });
    checkNumbers({ minutes }, { fractions: true });
  }
  return (requestNumber) =>
    faults.find((fault) => {
      const { at = 1 } = fault;
      return requestNumber >= at && requestNumber < at + timesOf(fault);
    });
}

function timesOf(fault: Fault): number {
  const { times } = fault;
  return times !== undefined ? times : fault.name === 'clock-skew' ? Number.POSITIVE_INFINITY : 1;
}

function knownNames(): string {
  return `The names: ${faultNames.join(', ')}.`;
}
