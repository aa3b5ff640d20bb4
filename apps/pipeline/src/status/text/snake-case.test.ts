import { expect, test } from 'vitest';
import { snakeCased } from './snake-case.ts';

test('keys become snake case, and names from users stay unchanged', () => {
  const pipeline = {
    attemptTimes: { boundsMs: [1] },
    attempts: { 'rate-limited': 1 },
    credentials: { myApp: { ok: 1 } },
    records: { myTopic: 2 },
  };
  expect(snakeCased({ retryInMs: 5, pipelines: { myShop: pipeline }, last: [{ doneAt: 7 }], isExact: true, at: null })).toEqual({
    retry_in_ms: 5,
    pipelines: {
      myShop: {
        attempt_times: { bounds_ms: [1] },
        attempts: { 'rate-limited': 1 },
        credentials: { myApp: { ok: 1 } },
        records: { myTopic: 2 },
      },
    },
    last: [{ done_at: 7 }],
    is_exact: true,
    at: null,
  });
});
