import type { SourceOptions } from '@headgate/sources';
import * as z from 'zod';
import { byteSize } from './byte-size.ts';
import { duration } from './duration.ts';
import type { OptionIssue } from './parse-options.ts';
import { pemText } from './pem.ts';
import { type SecretInput, type SecretReader, proxyAddress } from './secret.ts';

/** A schema for a duration, parsed to ms, or for a size, parsed to bytes: text with a unit, or a number. */
export type Amount = z.ZodPrefault<z.ZodType<number, string | number>>;

/** Schemas of the options for a service's HTTP requests. */
export const httpOptions: {
  readonly timeout: Amount;
  readonly retryFor: Amount;
  readonly maxBody: Amount;
  readonly maxDelay: Amount;
  readonly userAgent: z.ZodExactOptional<z.ZodString>;
  readonly proxy: z.ZodExactOptional<z.ZodType<SecretReader, SecretInput | false>>;
  readonly ca: z.ZodExactOptional<z.ZodType<string, string>>;
  readonly allowPlainHttp: z.ZodDefault<z.ZodBoolean>;
} = {
  timeout: duration().prefault('30s').describe('Maximum duration of one attempt, including its whole response.'),
  retryFor: duration({ zero: true })
    .prefault('10m')
    .describe(
      "Maximum time to retry a request before it becomes a dead letter. Service outages don't count while other requests wait, too.",
    ),
  maxBody: byteSize()
    .prefault('16MiB')
    .describe('Maximum size of a response, both compressed and decompressed. Its headers: 256 KiB, as in browsers.'),
  maxDelay: duration({ zero: true }).prefault('5s').describe('Maximum delay between sending a request and the service counting it.'),
  userAgent: z
    .string()
    .regex(/^[\x20-\x7e]+$/, "has characters that a header can't carry. Write printable ASCII, such as my-crawler/1.0.")
    .exactOptional()
    .describe('`User-Agent` header of each request.')
    .meta({ examples: ['my-crawler/1.0'] }),
  proxy: proxyAddress()
    .exactOptional()
    .describe(
      'Proxy address, or `false` for none. Default: from HTTPS_PROXY, HTTP_PROXY and NO_PROXY, a list of hosts without ranges such as 10.0.0.0/8.',
    ),
  ca: pemText('CERTIFICATE', './ca.pem')
    .exactOptional()
    .describe("Certificate of the service's own certificate authority, as a path or PEM text."),
  allowPlainHttp: z.boolean().default(false).describe('Allow an http:// address of another machine, without a warning.'),
};

/** Whether a host is `localhost` or a loopback address. */
export function isLoopback(host: string): boolean {
  return /^(?:(?:[\w-]+\.)*localhost\.?|127(?:\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
}

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

/** Converts a pipeline's HTTP options to those of a source. */
export function sourceOptions(
  baseUrl: string,
  options: z.output<z.ZodObject<typeof httpOptions>>,
): Omit<SourceOptions, 'credentials' | 'limit'> {
  const { timeout, maxBody, maxDelay, retryFor, userAgent, proxy: through, ca } = options;
  return {
    baseUrl,
    timeoutMs: timeout,
    maxBodyBytes: maxBody,
    maxDelayMs: maxDelay,
    retryForMs: retryFor,
    userAgent,
    proxy: through?.(),
    ca,
  };
}
