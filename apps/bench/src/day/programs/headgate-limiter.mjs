// Requests jobs through Headgate's limiter. The limiter keeps nothing, and a program that starts again takes other jobs.
import { limitedFetch, limiter, rateBudget } from '@headgate/throttle/limiter';

const { origin, limit, windowMs } = JSON.parse(process.argv[2]);
const fetch = limitedFetch(limiter({ budgets: [rateBudget({ limit, windowMs })] }));
let next = 0;
const work = async () => {
  for (;;) {
    const response = await fetch(`${origin}/job/${process.pid}-${next++}`);
    await response.json();
  }
};
await Promise.all(Array.from({ length: 2 * limit }, work));
