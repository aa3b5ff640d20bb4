import { type DefinitionInfo, InvalidOptionsError, type Pipeline } from '@headgate/pipeline';
import { books } from '../pipelines/books.ts';
import { followers } from '../pipelines/followers.ts';

/** A result of `definePipeline`, which takes the pipeline's options. */
export interface AnyPipeline {
  (options: never): Pipeline;
  readonly definition: DefinitionInfo;
  /** Returns the same pipeline under the name of its section. */
  named?(name: string): AnyPipeline;
}

export const BUILT_IN: readonly AnyPipeline[] = [followers, books];

/** The definitions of the built-in pipelines and of `own`. A definition in `own` replaces a built-in definition of the same name. */
export function withBuiltIn(own: readonly DefinitionInfo[]): readonly DefinitionInfo[] {
  const all = [...BUILT_IN.map(({ definition }) => definition), ...own];
  return [...new Map(all.map((one) => [one.name, one])).values()];
}

/**
 * Whether a value, such as a module's default export, is the result of `definePipeline`. Checks the shape, because a module can use the
 * classes of another installation.
 */
export function isDefinedPipeline(value: unknown): value is AnyPipeline {
  return (
    typeof value === 'function' &&
    'definition' in value &&
    typeof value.definition === 'object' &&
    value.definition !== null &&
    'requests' in value.definition
  );
}

/** Whether an error says that options don't fit their pipeline's schema. Checks the shape, too, for errors from another installation. */
export function isInvalidOptions(error: unknown): error is InvalidOptionsError {
  return error instanceof InvalidOptionsError || (error instanceof Error && error.name === 'InvalidOptionsError' && 'issues' in error);
}
