/**
 * The status page, metrics and probes of a run, for use in your own program.
 *
 * @packageDocumentation
 */
export { type StatusHandler, statusHandler, type StatusHandlerOptions } from './status-handler.ts';
