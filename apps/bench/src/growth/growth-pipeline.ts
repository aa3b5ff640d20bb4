import { bearer } from '@headgate/auth';
import { type Pipeline, definePipeline, topic, walk } from '@headgate/pipeline';
import { followers, followersPaging } from '@headgate/sources/followers';
import * as z from 'zod';

const user = z.strictObject({ screenName: z.string() });

/** The jobs of the bench: walks through the pages of `serve-pages`, with a record for each page. */
const growth = definePipeline({
  name: 'growth',
  options: z.strictObject({ origin: z.url(), credentials: z.array(z.strictObject({ name: z.string() })), users: z.array(user) }),
  request: user,
  topics: { pages: topic({ value: z.strictObject({ ids: z.array(z.string()) }) }) },
  keyOf: ({ screenName }) => screenName,
  credentials: ({ credentials }) => credentials,
  listed: ({ users }) => users,
  open: ({ origin }, io) =>
    walk({
      source: followers({
        ...io,
        baseUrl: origin,
        credentials: io.credentials.map(({ name }) => ({ name, signer: bearer(name) })),
        limit: { requests: 1_000_000, windowMs: 1_000 },
      }),
      paging: (request) => followersPaging(request),
      records: ({ ids }, { topics, key }) => [topics.pages({ key, value: { ids: [...ids] } })],
    }),
});

/** The pipeline with this many credentials and jobs in its list. */
export function growthPipeline(origin: string, credentials: number, jobs = 0): Pipeline {
  const named = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`);
  return growth({
    origin,
    credentials: named('credential', credentials).map((name) => ({ name })),
    users: named('user', jobs).map((screenName) => ({ screenName })),
  });
}
