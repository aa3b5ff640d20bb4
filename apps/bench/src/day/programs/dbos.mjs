// Requests jobs from a DBOS queue with a rate limit. The workflow that fills the queue continues where it was killed.
import { DBOS } from '@dbos-inc/dbos-sdk';

const { origin, limit, windowMs, jobs, postgres } = JSON.parse(process.argv[2]);
const queueName = 'jobs';
const request = async (id) => {
  const response = await fetch(`${origin}/job/${id}`);
  if (!response.ok) throw new Error(`status ${response.status}`);
  return await response.json();
};
const job = DBOS.registerWorkflow((id) => DBOS.runStep(() => request(id), { name: 'request', retriesAllowed: true, maxAttempts: 10 }), {
  name: 'job',
});
const fill = DBOS.registerWorkflow(
  async () => {
    for (let id = 0; id < jobs; id += 1) await DBOS.startWorkflow(job, { queueName })(id);
  },
  { name: 'fill' },
);
DBOS.setConfig({ name: 'day', systemDatabaseUrl: postgres });
await DBOS.launch();
await DBOS.registerQueue(queueName, { rateLimit: { limitPerPeriod: limit, periodSec: windowMs / 1_000 } });
await DBOS.startWorkflow(fill, { workflowID: 'fill' })();
