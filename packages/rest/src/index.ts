/**
 * `use: rest`: any paginated API of JSON as a pipeline that is written down, not programmed.
 *
 * @packageDocumentation
 */
export { type RestOptions, restOptions } from './language.ts';
export { rest, type RestRequest, type RestSection } from './rest.ts';
export type { TriedStream } from './try.ts';
