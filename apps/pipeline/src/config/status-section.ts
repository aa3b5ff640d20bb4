import type { Config } from './config.ts';
import { Leaf } from './leaf.ts';
import { chosen, mapping, single } from './schema-parts.ts';
import type { Schema } from './schema-parts.ts';
import { text, wholeNumber } from './values.ts';
import { Complaint } from './complaint.ts';

/** Where the status page listens, or false. */
export function statusSection(): Schema<Config['status']> {
  const example = 'false, or { port: 9464, host: 127.0.0.1 }';
  const off = single({
    example,
    read: (leaf) => (leaf.text === 'false' ? (false as const) : new Complaint(`does not fit. Write ${example}.`)),
  });
  const shape = {
    port: wholeNumber({ min: 0, max: 65_535, example: '9464' }).default(9464),
    host: text({ pattern: /^[\w.:-]+$/, example: '127.0.0.1' }).default('127.0.0.1'),
  };
  const address = mapping({ shape, example });
  return chosen<Config['status']>((tree) => (tree instanceof Leaf ? off : address));
}
