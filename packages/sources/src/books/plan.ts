/** What the key was bought for. Each plan has an address of its own, and a key works only there. */
export type BooksPlan = 'default' | 'premium' | 'pro';

/** Requests per second of a plan, counted across all endpoints (service document, Limits). */
export function requestsPerSecond(plan: BooksPlan): number {
  const allowed: Readonly<Record<BooksPlan, number>> = { default: 1, premium: 3, pro: 5 };
  return allowed[plan];
}
