import type { OptionIssue } from '@headgate/pipeline';
import { httpOptions as common } from '@headgate/pipeline/internal';
import * as z from 'zod';
import { isLoopback } from '../config/address.ts';

/** The options for HTTP requests that followers and books share. */
export const httpOptions = {
  ...common,
  allowPlainHttp: z.boolean().default(false).describe('Allow an http:// address of another machine, without a warning.'),
};

/** Warns if requests go to another machine without TLS. `path`: the setting with the address. */
export function* plainHttpWarning(
  baseUrl: string,
  path: readonly string[],
  { allowPlainHttp }: { readonly allowPlainHttp: boolean },
): Generator<OptionIssue> {
  const { protocol, hostname } = new URL(baseUrl);
  if (protocol !== 'http:' || isLoopback(hostname) || allowPlainHttp) return;
  const message =
    'http sends each request and its credential over the network in clear text. Write https, or add allowPlainHttp: true to accept that.';
  yield { path, message };
}
