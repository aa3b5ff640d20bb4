import { bearer } from '@headgate/auth';
import { type DefinedPipeline, definePipeline, secret, topic, walk } from '@headgate/pipeline';
import { followers, followersPaging } from '@headgate/sources/followers';
import { z } from 'zod';

const options = z.strictObject({
  baseUrl: z.url(),
  token: secret(),
  screenNames: z.array(z.string()).default([]),
  limit: z.strictObject({ requests: z.int(), windowMs: z.int() }).default({ requests: 15, windowMs: 900_000 }),
  from: z.string().describe('The least id that is kept.'),
});

/** Writes selected followers into your own topic with your own values: `start({ log, pipelines: [newcomers({ … })] })`. */
export const newcomers: DefinedPipeline<typeof options> = definePipeline({
  name: 'newcomers',
  options,
  request: z.strictObject({ screenName: z.string() }),
  topics: { people: topic({ value: z.object({ who: z.string(), follows: z.string() }) }) },
  keyOf: ({ screenName }) => screenName,
  listed: ({ screenNames }) => screenNames.map((screenName) => ({ screenName })),
  open: ({ baseUrl, token, limit, from: least }, io) =>
    walk({
      source: followers({ ...io, baseUrl, limit, credentials: [{ name: 'app', signer: bearer(token) }] }),
      paging: ({ screenName }) => followersPaging({ screenName }),
      records: ({ ids }, { topics, key }) =>
        ids.filter((id) => BigInt(id) >= BigInt(least)).map((who) => topics.people({ key, value: { who, follows: key }, id: who })),
    }),
});
