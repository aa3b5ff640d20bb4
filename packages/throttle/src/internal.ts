/**
 * Internals for Headgate's own packages. They can change with every version.
 *
 * @packageDocumentation
 */
export { abortable, type AnySignal, anySignal, onAbort, orAborted, pause, type PauseOptions, untilAborted } from './abort.ts';
export { ALL_CREDENTIALS, unwrittenJournal } from './budget/journal.ts';
export { nextDayOfMonth, nextTimeOfDay } from './budget/next-reset.ts';
export { ABOVE_0, type NumberChecks, numberChecks, rangeChecks } from './number-checks.ts';
export { Batcher } from './pages/gather.ts';
export { sharedCredit } from './pages/shared-credit.ts';
