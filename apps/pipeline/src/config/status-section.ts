import type { OptionIssue } from '@headgate/pipeline';
import * as z from 'zod';
import { isLoopback } from './address.ts';

const page = z.strictObject({
  port: z.int().min(0).max(65_535).default(9_464).describe('Port to listen on; 0 takes a free one.'),
  host: z
    .string()
    .regex(/^[\w.:-]+$/, 'does not fit. Write an address or a name, as in 127.0.0.1.')
    .default('127.0.0.1')
    .describe('Address to listen at.'),
  names: z
    .array(
      z
        .string()
        .regex(/^[\w.-]+$/, 'is no name of a host. Write one as in headgate.internal.')
        .toLowerCase(),
    )
    .default([])
    .describe('Names that it may be asked by, besides addresses and localhost.')
    .meta({ examples: [['headgate.internal']] }),
  allowRemote: z.boolean().default(false).describe('Listen for other machines without a warning: the page has no password.'),
});

/** Where the status page listens, or false. */
export const statusSection = z
  .union([z.literal(false), page])
  .prefault({})
  .describe('Status page and metrics; false turns them off.')
  .meta({ examples: [{ port: 9_464, host: '127.0.0.1' }] });

export type StatusConfig = z.output<typeof page>;

export function* statusWarnings(status: z.output<typeof statusSection>): Generator<OptionIssue> {
  if (status === false || status.allowRemote || isLoopback(status.host)) return;
  const message =
    'the status page has no password, and here other machines can read it. Write 127.0.0.1, or allowRemote: true beside it where they may.';
  yield { path: ['host'], message };
}
