// Loads only these parts of undici. Its index also loads fetch, mocks and caches, which would take more time and memory.
import type * as undici from 'undici';
// @ts-expect-error -- undici has type declarations only for its index
import agent from 'undici/lib/dispatcher/agent.js';
// @ts-expect-error -- the same
import client from 'undici/lib/dispatcher/client.js';
// @ts-expect-error -- the same
import pool from 'undici/lib/dispatcher/pool.js';

export const Agent: typeof undici.Agent = agent;
export const Client: typeof undici.Client = client;
export const Pool: typeof undici.Pool = pool;
