import { type DefinitionInfo, InvalidOptionsError, type Pipeline } from '@headgate/pipeline';
import { books } from '../pipelines/books.ts';
import { followers } from '../pipelines/followers.ts';

/** A pipeline's definition, whatever its options are. */
export interface AnyPipeline {
  (options: never): Pipeline;
  readonly definition: DefinitionInfo;
}

/** The pipelines that need no module, in the order of a file that `headgate init` writes. */
export const BUILT_IN: readonly AnyPipeline[] = [followers, books];

/** Whether a module's default export is what `definePipeline` gives. A folder may have an installation of its own, with classes of its own. */
export function isDefinedPipeline(value: unknown): value is AnyPipeline {
  return (
    typeof value === 'function' &&
    'definition' in value &&
    typeof value.definition === 'object' &&
    value.definition !== null &&
    'requests' in value.definition
  );
}

/** Whether a value is what a defined pipeline gives, called with its options. */
export function isPipeline(value: unknown): value is Pipeline {
  return typeof value === 'object' && value !== null && 'definition' in value && 'open' in value && typeof value.open === 'function';
}

/** The same of an error: whether options don't fit the schema of their pipeline. */
export function isInvalidOptions(error: unknown): error is InvalidOptionsError {
  return error instanceof InvalidOptionsError || (error instanceof Error && error.name === 'InvalidOptionsError' && 'issues' in error);
}
