// Requests jobs from a BullMQ queue whose worker has a limiter. A job that exists isn't added again.
import { Queue, Worker } from 'bullmq';

const { origin, limit, windowMs, jobs, name, redis } = JSON.parse(process.argv[2]);
const connection = { path: redis, maxRetriesPerRequest: null };
const worker = new Worker(
  name,
  async ({ data }) => {
    const response = await fetch(`${origin}/job/${data.id}`);
    const body = await response.json();
    if (response.status !== 429) return body;
    await worker.rateLimit(1_000 * Number(response.headers.get('retry-after')));
    throw Worker.RateLimitError();
  },
  { connection, concurrency: 2 * limit, limiter: { max: limit, duration: windowMs } },
);
const list = Array.from({ length: jobs }, (_, id) => ({ name: 'job', data: { id }, opts: { jobId: `job-${id}` } }));
await new Queue(name, { connection }).addBulk(list);
