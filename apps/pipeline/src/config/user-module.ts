import { registerHooks } from 'node:module';
import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import type { Place } from './yaml-file.ts';

/** Packages that a user's module finds in this installation if its own folder has none. */
const OURS = /^(headgate|@headgate\/[\w-]+|rxjs|zod)(\/|$)/;
/** Whether this process has registered its module hooks, which apply to every import. */
let isHooked = false;
/** For the name of a package, the URL of the configuration file that uses it. Node searches for the package from that file. */
const namedBy = new Map<string, string>();

/**
 * The default export of a user's module. The module is a JavaScript file, a TypeScript file whose types Node strips, or an installed
 * package. `module` is the file's absolute path or the package's name. Node searches for a package from `from`, the absolute path of a
 * file. Throws the module's own error.
 */
export async function defaultExportOf(module: string, from?: string): Promise<unknown> {
  if (!isHooked) {
    isHooked = true;
    registerHooks({
      resolve(specifier, context, next) {
        try {
          const parentURL = context.parentURL === import.meta.url ? (namedBy.get(specifier) ?? context.parentURL) : context.parentURL;
          const resolved = next(specifier, { ...context, parentURL });
          // Without a format, Node would first treat the file as CommonJS, and then warn about it.
          const isUntold = resolved.format == null && resolved.url.endsWith('.ts');
          return isUntold ? { ...resolved, format: 'module-typescript' } : resolved;
        } catch (error) {
          const { code } = error as { code?: unknown };
          if (!OURS.test(specifier) || (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND')) throw error;
          return next(specifier, { ...context, parentURL: import.meta.url });
        }
      },
    });
  }
  if (from !== undefined) namedBy.set(module, pathToFileURL(from).href);
  const loading = import(from === undefined ? pathToFileURL(module).href : module) as Promise<{ readonly default?: unknown }>;
  return (await loading).default;
}

/** The place in a user's module that an error's stack names; undefined if it names none. */
export function placeInModule(error: unknown, path: string): Place | undefined {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const escaped = basename(path).replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const [, line, column] = new RegExp(`[/\\\\]${escaped}:(\\d+)(?::(\\d+))?`).exec(stack) ?? [];
  return line === undefined ? undefined : { line: Number(line), column: Number(column ?? 1) };
}

/** The reason why a module can't be loaded, in one line. */
export function loadingReason(error: unknown): string {
  const words = error instanceof Error && typeof error.message === 'string' ? error.message : inspect(error);
  const [first = ''] = words.split('\n');
  const name = error instanceof Error && error.name !== 'Error' ? `${error.name}: ` : '';
  return `${name}${first.slice(0, 300)}`.replace(/\.?$/, '.');
}
