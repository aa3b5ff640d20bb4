import type { OptionIssue } from '@headgate/pipeline';
import { isLoopback } from '@headgate/pipeline/internal';
import * as z from 'zod';

const page = z.strictObject({
  port: z.int().min(0).max(65_535).default(9_464).describe('Port to listen on; 0 picks a free one.'),
  host: z
    .string()
    .regex(/^[\w.:-]+$/, "isn't a valid host. Write an address or a name, such as 127.0.0.1.")
    .default('127.0.0.1')
    .describe('Address to listen on.'),
  names: z
    .array(
      z
        .string()
        .regex(/^[\w.-]+$/, "isn't a host name. Write one such as headgate.internal.")
        .toLowerCase(),
    )
    .default([])
    .describe('Host names that the page may be requested under, besides IP addresses and localhost.')
    .meta({ examples: [['headgate.internal']] }),
  allowRemote: z
    .boolean()
    .default(false)
    .describe('Allow a host that other machines can reach, without a warning. The page has no password.'),
});

/** The schema of the `status` section: the settings of the status page, or `false` for none. */
export const statusSection = z
  .union([z.literal(false), page])
  .prefault({})
  .describe('Status page and metrics; `false` turns them off.')
  .meta({ examples: [{ port: 9_464, host: '127.0.0.1' }] });

export type StatusConfig = z.output<typeof page>;

export function* statusWarnings(status: z.output<typeof statusSection>): Generator<OptionIssue> {
  if (status === false || status.allowRemote || isLoopback(status.host)) return;
  const message =
    'the status page has no password, and other machines can read it at this address. Write 127.0.0.1, or add allowRemote: true to allow that.';
  yield { path: ['host'], message };
}
