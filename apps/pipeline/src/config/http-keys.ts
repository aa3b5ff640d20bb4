import type { z } from 'zod';
import { proxy } from './addresses.ts';
import type { HttpConfig, Secret } from './config.ts';
import { certificate } from './pem.ts';
import type { ReadContext } from './read-context.ts';
import type { Schema } from './schema-parts.ts';
import { byteSize, duration, flag, header } from './values.ts';

export interface HttpKeys {
  readonly timeout: z.ZodDefault<Schema<number>>;
  readonly maxBody: z.ZodDefault<Schema<number>>;
  readonly maxDelay: z.ZodDefault<Schema<number>>;
  readonly retryFor: z.ZodDefault<Schema<number>>;
  readonly userAgent: z.ZodExactOptional<Schema<string>>;
  readonly proxy: z.ZodExactOptional<Schema<Secret>>;
  readonly ca: z.ZodExactOptional<Schema<string>>;
  readonly allowPlainHttp: z.ZodDefault<Schema<boolean>>;
}

/** The keys every service's section has for its exchanges. */
export function httpKeys({ context }: { readonly context: ReadContext }): HttpKeys {
  return {
    timeout: duration({ example: '30s' }).default(30_000),
    maxBody: byteSize({ example: '16MiB' }).default(16 * 2 ** 20),
    maxDelay: duration({ example: '5s', zero: true }).default(5000),
    retryFor: duration({ example: '10m', zero: true }).default(600_000),
    userAgent: header({ example: 'my-crawler/1.0' }).exactOptional(),
    proxy: proxy({ context }).exactOptional(),
    ca: certificate({ context, example: './ca.pem' }).exactOptional(),
    allowPlainHttp: flag().default(false),
  };
}

export interface HttpConfigFromOptions {
  readonly baseUrl: string;
  readonly read: {
    readonly timeout: number;
    readonly maxBody: number;
    readonly maxDelay: number;
    readonly retryFor: number;
    readonly userAgent?: string;
    readonly proxy?: Secret;
    readonly ca?: string;
  };
}

/** Those keys as the configuration has them. */
export function httpConfigFrom({ baseUrl, read }: HttpConfigFromOptions): HttpConfig {
  return {
    baseUrl,
    timeoutMs: read.timeout,
    maxBodyBytes: read.maxBody,
    maxDelayMs: read.maxDelay,
    retryForMs: read.retryFor,
    ...(read.userAgent === undefined ? {} : { userAgent: read.userAgent }),
    ...(read.proxy === undefined ? {} : { proxy: read.proxy }),
    ...(read.ca === undefined ? {} : { ca: read.ca }),
  };
}
