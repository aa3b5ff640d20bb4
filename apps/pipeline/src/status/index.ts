/**
 * The status page, metrics and probes of a run inside a program of your own.
 *
 * @packageDocumentation
 */
export { type StatusHandler, statusHandler, type StatusHandlerOptions } from './status-handler.ts';
