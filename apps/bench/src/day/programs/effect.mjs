// Requests jobs through Effect's HttpClient with its RateLimiter. A program that starts again takes other jobs.
import { NodeRedis } from '@effect/platform-node';
import { Effect, Layer } from 'effect';
import { FetchHttpClient, HttpClient } from 'effect/http';
import { RateLimiter } from 'effect/persistence';

const { origin, limit, windowMs, name, store, redis } = JSON.parse(process.argv[2]);
const stores = {
  memory: () => RateLimiter.layerStoreMemory,
  redis: () => RateLimiter.layerStoreRedis().pipe(Layer.provide(NodeRedis.layer({ socket: { path: redis } }))),
};
let next = 0;
const program = Effect.gen(function* () {
  const client = (yield* HttpClient.HttpClient).pipe(
    HttpClient.withRateLimiter({ limiter: yield* RateLimiter.RateLimiter, key: name, limit, window: windowMs }),
  );
  const request = Effect.suspend(() => Effect.flatMap(client.get(`${origin}/job/${process.pid}-${next++}`), ({ json }) => json));
  yield* Effect.all(
    Array.from({ length: 2 * limit }, () => Effect.forever(request)),
    { concurrency: 'unbounded' },
  );
});
const limiter = RateLimiter.layer.pipe(Layer.provide(stores[store]()));
await Effect.runPromise(program.pipe(Effect.provide(Layer.merge(limiter, FetchHttpClient.layer))));
