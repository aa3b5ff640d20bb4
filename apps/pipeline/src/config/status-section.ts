import type { Config } from './config.ts';
import { isLoopback } from './addresses.ts';
import { Leaf, isMapping } from './leaf.ts';
import type { ReadContext } from './read-context.ts';
import { chosen, list, mapping, single } from './schema-parts.ts';
import type { Schema } from './schema-parts.ts';
import { flag, text, wholeNumber } from './values.ts';
import { Complaint } from './complaint.ts';

const HOST = /^[\w.-]+$/;
const REMOTE =
  'the status page has no password, and here other machines can read it. Write 127.0.0.1, or allowRemote: true beside it where they may.';

/** Where the status page listens, or false. */
export function statusSection({ context }: { readonly context: ReadContext }): Schema<Config['status']> {
  const example = 'false, or { port: 9464, host: 127.0.0.1 }';
  const off = single({
    example,
    read: (leaf) => (leaf.text === 'false' ? (false as const) : new Complaint(`does not fit. Write ${example}.`)),
  });
  const name = single({
    example: 'headgate.internal',
    read: (leaf) =>
      HOST.test(leaf.text ?? '')
        ? (leaf.text ?? '').toLowerCase()
        : new Complaint('is no name of a host. Write one as in headgate.internal.'),
  });
  const shape = {
    port: wholeNumber({ min: 0, max: 65_535, example: '9464' }).default(9464),
    host: text({ pattern: /^[\w.:-]+$/, example: '127.0.0.1' }).default('127.0.0.1'),
    names: list({ item: name, example: '[headgate.internal]', empty: true }).default([]),
    allowRemote: flag().default(false),
  };
  const address = mapping({ shape, example });
  return chosen<Config['status']>((tree) =>
    tree instanceof Leaf
      ? off
      : address.transform(({ allowRemote, ...status }) => {
          const leaf = isMapping(tree) ? tree['host'] : undefined;
          if (!allowRemote && leaf instanceof Leaf && !isLoopback(status.host)) context.warn(leaf, REMOTE);
          return status;
        }),
  );
}
