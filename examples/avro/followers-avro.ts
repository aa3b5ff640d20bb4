import { bearer } from '@headgate/auth';
import { type DefinedPipeline, definePipeline, secret, topic, walk } from '@headgate/pipeline';
import { followers, followersPaging } from '@headgate/sources/followers';
import type { Schema } from 'avsc';
import { z } from 'zod';
import { confluentAvro } from './confluent-avro.ts';

const page = z.object({ user: z.string(), page: z.int(), ids: z.array(z.string()) });
const follower = z.object({ user: z.string(), id: z.string() });

const pageSchema = recordSchema('Page', { user: 'string', page: 'int', ids: { type: 'array', items: 'string' } });
const followerSchema = recordSchema('Follower', { user: 'string', id: 'string' });

function recordSchema(name: string, fields: Readonly<Record<string, Schema>>): Schema {
  return { type: 'record', name, namespace: 'example', fields: Object.entries(fields).map(([field, type]) => ({ name: field, type })) };
}

const options = z.strictObject({ baseUrl: z.url(), token: secret(), users: z.array(z.string()).default([]) });

/** Followers of users as Avro: `avro.pages` and one record per follower in `avro.followers`. */
export function followersAvro(registry: string): DefinedPipeline<typeof options> {
  const avro = <Value>(value: z.ZodType<Value>, schema: Schema) =>
    topic({ value, serialize: confluentAvro({ registry, schema }), contentType: 'application/avro' });
  return definePipeline({
    name: 'avro',
    options,
    request: z.strictObject({ user: z.string() }),
    topics: { pages: avro(page, pageSchema), followers: avro(follower, followerSchema) },
    keyOf: ({ user }) => user,
    listed: ({ users }) => users.map((user) => ({ user })),
    open: ({ baseUrl, token }, io) =>
      walk({
        source: followers({
          ...io,
          baseUrl,
          credentials: [{ name: 'app', signer: bearer(token) }],
          limit: { requests: 1_000, windowMs: 1_000 },
        }),
        paging: ({ user }) => followersPaging({ screenName: user }),
        *records({ ids }, { key, page: number, topics }) {
          yield topics.pages({ key, value: { user: key, page: number, ids: [...ids] } });
          yield topics.followers.series({ key, count: ids.length, valueAt: (i) => ({ user: key, id: ids[i] ?? '' }) });
        },
      }),
  });
}
