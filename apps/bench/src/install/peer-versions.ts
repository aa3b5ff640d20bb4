/** The packages that Headgate is compared with. Exact versions make a table reproducible. */
export const PEER_VERSIONS = {
  bottleneck: '2.19.5',
  'p-throttle': '8.1.1',
  limiter: '4.1.0',
  'rate-limiter-flexible': '11.4.0',
  'p-queue': '10.0.0',
  got: '16.1.0',
  axios: '1.21.1',
  'twitter-api-v2': '1.29.1',
  kafkajs: '2.2.4',
  effect: '4.1.0',
  '@effect/platform-node': '4.1.0',
  redis: '6.3.1',
  bullmq: '6.7.0',
  ioredis: '6.0.0',
  '@dbos-inc/dbos-sdk': '5.3.0',
} as const;

export type PeerName = keyof typeof PEER_VERSIONS;
