/**
 * A clock for tests, which moves only when the test advances it.
 *
 * @packageDocumentation
 */
export { type VirtualClock, type VirtualClockOptions, virtualClock } from './virtual-clock.ts';
