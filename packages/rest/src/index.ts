/**
 * `use: rest`: a pipeline for any paginated JSON API, described in YAML or as an object.
 *
 * @packageDocumentation
 */
export type { RestErrorCode } from './answer.ts';
export { type RestOptions, restOptions } from './language.ts';
export type { Condition } from './rules.ts';
// The type of `restOptions` refers to `Path` and to the types of template.ts.
export type { Path } from './path.ts';
export { type InferredSchema, inferredSchema } from './infer-schema.ts';
export { type Guess, type GuessedStream, guessStream } from './guess.ts';
export { rest, type RestRequest, type RestSection } from './rest.ts';
export type { TriedStream } from './try.ts';
export type { JsonTemplate, Placeholder, Template, ValueOf } from './template.ts';
