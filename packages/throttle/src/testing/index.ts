/**
 * A clock for tests, which stands still until the test advances it.
 *
 * @packageDocumentation
 */
export { type VirtualClock, type VirtualClockOptions, virtualClock } from './virtual-clock.ts';
