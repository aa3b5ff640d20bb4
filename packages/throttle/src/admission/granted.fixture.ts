import type { Claims, CredentialPool } from './credential-pool.ts';
import { creditPool } from './credit-pool.ts';
import { Permit } from './permit.ts';

/** Takes a permit of a pool, without admission and without credit. */
export function granted(pool: CredentialPool, weights: readonly number[] = [], claims?: Claims): Permit {
  return new Permit(pool, pool.take(weights, undefined, claims), creditPool({ max: 1 }).reserve(0), () => undefined);
}
