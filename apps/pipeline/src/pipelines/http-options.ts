import { type OptionIssue, duration } from '@headgate/pipeline';
import { proxyAddress } from '@headgate/pipeline/internal';
import type { SourceOptions } from '@headgate/sources';
import * as z from 'zod';
import { isLoopback } from '../config/address.ts';
import { pemText } from '../config/pem.ts';
import { byteSize } from './byte-size.ts';

/** The options that every service has for its HTTP requests. */
export const httpOptions = {
  timeout: duration().prefault('30s').describe('Maximum duration of one attempt, including its whole response.'),
  retryFor: duration({ zero: true })
    .prefault('10m')
    .describe("Maximum time to retry a request before it becomes a dead letter. Service outages don't count."),
  maxBody: byteSize().prefault('16MiB').describe('Maximum size of a response, both compressed and decompressed.'),
  maxDelay: duration({ zero: true }).prefault('5s').describe('Maximum delay between sending a request and the service counting it.'),
  userAgent: z
    .string()
    .regex(/^[\x20-\x7e]+$/, "has characters that a header can't carry. Write printable ASCII, such as my-crawler/1.0.")
    .exactOptional()
    .describe('`User-Agent` header of each request.')
    .meta({ examples: ['my-crawler/1.0'] }),
  proxy: proxyAddress().exactOptional().describe('Proxy address, or `false` for none. Default: from HTTPS_PROXY, HTTP_PROXY and NO_PROXY.'),
  ca: pemText('CERTIFICATE', './ca.pem')
    .exactOptional()
    .describe("Certificate of the service's own certificate authority, as a path or PEM text."),
  allowPlainHttp: z.boolean().default(false).describe('Allow an http:// address of another machine, without a warning.'),
};

const http = z.object(httpOptions);

/** These options in the form that a source takes. */
export function sourceOptions(baseUrl: string, options: z.output<typeof http>): Omit<SourceOptions, 'credentials' | 'limit'> {
  const { timeout, maxBody, maxDelay, retryFor, userAgent, proxy: through, ca } = options;
  return {
    baseUrl,
    timeoutMs: timeout,
    maxBodyBytes: maxBody,
    maxDelayMs: maxDelay,
    retryForMs: retryFor,
    ...(userAgent !== undefined && { userAgent }),
    ...(through !== undefined && { proxy: through() }),
    ...(ca !== undefined && { ca }),
  };
}

/** Warns if requests go to another machine without TLS. `path`: the setting with the address. */
export function* plainHttpWarning(
  baseUrl: string,
  path: readonly string[],
  { allowPlainHttp }: z.output<typeof http>,
): Generator<OptionIssue> {
  const { protocol, hostname } = new URL(baseUrl);
  if (protocol !== 'http:' || isLoopback(hostname) || allowPlainHttp) return;
  const message =
    'http sends each request and its credential over the network in clear text. Write https, or add allowPlainHttp: true to accept that.';
  yield { path, message };
}
