import { type OptionIssue, type Secret, type SecretInput, duration, secret } from '@headgate/pipeline';
import type { SourceOptions } from '@headgate/sources';
import * as z from 'zod';
import { isLoopback } from '../config/address.ts';
import { pemText } from '../config/pem.ts';
import { byteSize } from './byte-size.ts';

const PROXY = 'http://proxy.example.com:3128';

/** A proxy's address, empty for none; kept as a secret, for it may hold a password. */
function proxy(): z.ZodType<Secret, SecretInput | false> {
  const schema = z.union([z.literal(false), secret()]).transform((given, context): Secret => {
    if (given === false) return () => '';
    const flaw = `is not a proxy's address. Write it as in ${PROXY}, or false for none.`;
    const protocol = readNow(given, (text) => URL.parse(text)?.protocol ?? 'none:');
    if (protocol !== undefined && protocol !== 'http:' && protocol !== 'https:') context.addIssue({ code: 'custom', message: flaw });
    return given;
  });
  return schema.meta({ writeOnly: true, examples: [PROXY] });
}

/** Undefined where a secret can't be read yet. */
export function readNow<Value>(given: Secret, look: (text: string) => Value): Value | undefined {
  try {
    return look(given());
  } catch {
    return undefined;
  }
}

/** The options that every service has for its HTTP requests. */
export const httpOptions = {
  timeout: duration().prefault('30s').describe('Longest an attempt may take, all in all.'),
  retryFor: duration({ zero: true })
    .prefault('10m')
    .describe(
      'How long a request is tried again before it becomes a dead letter. Time in which the service is down for all requests does not count.',
    ),
  maxBody: byteSize().prefault('16MiB').describe('Largest answer, as sent and as decoded.'),
  maxDelay: duration({ zero: true }).prefault('5s').describe('Longest that a request, once sent, may take to be counted by the service.'),
  userAgent: z
    .string()
    .regex(/^[\x20-\x7e]+$/, 'goes into a header. Write plain letters, as in my-crawler/1.0.')
    .exactOptional()
    .describe('`User-Agent` of each request.')
    .meta({ examples: ['my-crawler/1.0'] }),
  proxy: proxy().exactOptional().describe('Address of a proxy, false for none; without it HTTPS_PROXY, HTTP_PROXY and NO_PROXY decide.'),
  ca: pemText('CERTIFICATE', './ca.pem').exactOptional().describe("Certificate of the service's own authority: a path, or PEM text."),
  allowPlainHttp: z.boolean().default(false).describe('Take an http:// address of another machine without a warning.'),
};

const http = z.object(httpOptions);

/** Those options as a source takes them. */
export function sourceOptions(baseUrl: string, options: z.output<typeof http>): Omit<SourceOptions, 'credentials' | 'limit'> {
  const { timeout, maxBody, maxDelay, retryFor, userAgent, proxy: through, ca } = options;
  return {
    baseUrl,
    timeout,
    maxBodyBytes: maxBody,
    maxDelayMs: maxDelay,
    retryForMs: retryFor,
    ...(userAgent !== undefined && { userAgent }),
    ...(through !== undefined && { proxy: through() }),
    ...(ca !== undefined && { ca }),
  };
}

/** Warns where requests go to another machine without TLS. `path`: where the address stands. */
export function* plainHttpWarning(
  baseUrl: string,
  path: readonly string[],
  { allowPlainHttp }: z.output<typeof http>,
): Generator<OptionIssue> {
  const { protocol, hostname } = new URL(baseUrl);
  if (protocol !== 'http:' || isLoopback(hostname) || allowPlainHttp) return;
  const message =
    'http carries each request and its credential through the network in clear text. Write https, or allowPlainHttp: true beside it where that may be.';
  yield { path, message };
}
