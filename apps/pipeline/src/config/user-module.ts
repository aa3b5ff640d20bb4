import { registerHooks } from 'node:module';
import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Place } from './yaml-file.ts';

/** Packages that a user's module finds in this installation where its own folder has none. */
const OURS = /^(headgate|@headgate\/[\w-]+|rxjs|zod)(\/|$)/;
/** Hooks belong to the process. */
let isHooked = false;

/** The default export of a user's module, in JavaScript or in TypeScript whose types Node strips. Throws what loading or running it throws. */
export async function defaultExportOf(path: string): Promise<unknown> {
  if (!isHooked) {
    isHooked = true;
    registerHooks({
      resolve(specifier, context, next) {
        try {
          return next(specifier, context);
        } catch (error) {
          const { code } = error as { code?: unknown };
          if (!OURS.test(specifier) || (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND')) throw error;
          return next(specifier, { ...context, parentURL: import.meta.url });
        }
      },
    });
  }
  const module = (await import(pathToFileURL(path).href)) as { readonly default?: unknown };
  return module.default;
}

/** Where in a user's module an error came about, as its stack says. */
export function placeInModule(error: unknown, path: string): Place | undefined {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const escaped = basename(path).replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const [, line, column] = new RegExp(`[/\\\\]${escaped}:(\\d+)(?::(\\d+))?`).exec(stack) ?? [];
  return line === undefined ? undefined : { line: Number(line), column: Number(column ?? 1) };
}

/** Why a module can't be loaded, in a line. */
export function loadingReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error).slice(0, 300);
  const [first = ''] = error.message.split('\n');
  return `${error.name === 'Error' ? '' : `${error.name}: `}${first.slice(0, 300)}`.replace(/\.?$/, '.');
}
