import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { plainFileFlaw } from '@headgate/pipeline/internal';
import { type AnyPipeline, isDefinedPipeline } from './built-in.ts';
import { quoted } from './problem.ts';
import { defaultExportOf, loadingReason, placeInModule } from './user-module.ts';

/** Thrown for a section with `use` whose pipeline can't be used. The message completes a sentence about its `use`. */
export class UsedPipelineError extends Error {
  override readonly name = 'UsedPipelineError';
}

/** Returns the pipeline that a section of the file at `configPath` names. Throws a `UsedPipelineError`. */
export async function usedPipeline(section: string, use: string, configPath: string): Promise<AnyPipeline> {
  if (use === 'rest') return (await import('@headgate/rest')).rest(section);
  const refuse = (message: string): never => {
    throw new UsedPipelineError(`${quoted(use)} ${message}`);
  };
  const found = await moduleOf(use, configPath, refuse);
  if (!isDefinedPipeline(found)) return refuse('has no pipeline as its default export. Write: export default definePipeline({ … });');
  const { name } = found.definition;
  if (name === section) return found;
  if (found.named !== undefined) return found.named(section);
  return refuse(`defines the pipeline ${name}, and its section must have the same name. Rename this key to ${name}.`);
}

/** The default export of the module that `use` names: a path, or an installed package. */
async function moduleOf(use: string, configPath: string, refuse: (message: string) => never): Promise<unknown> {
  const path = resolve(dirname(configPath), use);
  const isPackage = isPackageName(use) && !existsSync(path);
  const flaw = isPackage ? undefined : plainFileFlaw(path);
  if (flaw !== undefined) return refuse(flaw);
  try {
    return isPackage ? await defaultExportOf(use, configPath) : await defaultExportOf(path);
  } catch (error) {
    if (isPackage && isMissing(error, packageOf(use)))
      return refuse('is neither a file relative to this one nor an installed package (npm install).');
    const { line, column } = (isPackage ? undefined : placeInModule(error, path)) ?? {};
    const place = line === undefined ? '' : ` (line ${line}, column ${column})`;
    return refuse(`can't be loaded${place}: ${loadingReason(error)}`);
  }
}

/** True for `parcels`, `@post/parcels` and `parcels/letters`. A path begins with a dot, a slash or a drive instead. */
function isPackageName(use: string): boolean {
  return /^(?:@[a-z0-9-~][\w.~-]*\/)?[a-z0-9-~][\w.~-]*(?:\/[^\\]+)?$/iu.test(use);
}

/** The package of a module: `@post/parcels` for `@post/parcels/letters`. */
function packageOf(use: string): string {
  return use.split('/', use.startsWith('@') ? 2 : 1).join('/');
}

/** Whether the package itself is missing, rather than a package that it imports. */
function isMissing(error: unknown, name: string): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    error.code === 'ERR_MODULE_NOT_FOUND' &&
    error.message.startsWith(`Cannot find package '${name}'`)
  );
}
