import { duration, secret } from '@headgate/pipeline';
import type { SourceOptions } from '@headgate/sources';
import { z } from 'zod';

/** The options that every service has for its HTTP requests. */
export const httpOptions = {
  baseUrl: z.string().describe('Address of the service; a path in it is kept.'),
  timeout: duration().default(30_000).describe('For one attempt, all in all.'),
  maxBody: z
    .int()
    .positive()
    .default(16 * 2 ** 20)
    .describe('Most bytes of an answer, as sent and as decoded.'),
  maxDelay: duration({ zero: true }).default(5_000).describe('Longest a request that was sent may take to be counted by the service.'),
  retryFor: duration({ zero: true }).default(600_000).describe('How long a request is tried again before it becomes a dead letter.'),
  userAgent: z.string().exactOptional().describe('Of every request.'),
  proxy: secret().exactOptional().describe("A proxy's address; default: HTTPS_PROXY, HTTP_PROXY and NO_PROXY."),
  ca: z.string().exactOptional().describe('PEM text of an own certificate authority.'),
};

const http = z.object(httpOptions);

/** Those options as a source takes them. */
export function sourceOptions(options: z.output<typeof http>): Omit<SourceOptions, 'credentials' | 'limit'> {
  const { baseUrl, timeout, maxBody, maxDelay, retryFor, userAgent, proxy, ca } = options;
  return {
    baseUrl,
    timeout,
    maxBodyBytes: maxBody,
    maxDelayMs: maxDelay,
    retryForMs: retryFor,
    ...(userAgent !== undefined && { userAgent }),
    ...(proxy !== undefined && { proxy: proxy() }),
    ...(ca !== undefined && { ca }),
  };
}
