/**
 * `use: rest`: any paginated API of JSON as a pipeline that is written down, not programmed.
 *
 * @packageDocumentation
 */
export type { RestErrorCode } from './answer.ts';
export { type Condition, type RestOptions, restOptions } from './language.ts';
// Types that the schema's type names.
export type { Path } from './path.ts';
export { rest, type RestRequest, type RestSection } from './rest.ts';
export type { TriedStream } from './try.ts';
export type { JsonTemplate, Placeholder, Template, ValueOf } from './template.ts';
