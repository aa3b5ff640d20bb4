import { once } from 'node:events';
import { type Server, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { workplace } from '../headgate-process.fixture.ts';
import { BECAUSE, WHY_NOT } from './kafka-place.fixture.ts';

describe.skipIf(WHY_NOT !== undefined)(`a sandbox with Kafka${BECAUSE}`, () => {
  it('prints what a configuration needs, which runs with nothing but a credential and users', async () => {
    await using place = await workplace('');
    const sandbox = place.start('sandbox', '--kafka', '--port', '0', '--user', 'alpha=3');
    const told = (): string => sandbox.text().stdout;
    await expect.poll(told, { timeout: 120_000 }).toMatch(/^books: .*\n$/mu);
    const lines = told().replace(
      /^followers: \{ (.*) \}$/mu,
      'followers: { $1, credentials: [{ name: app, bearer: any }], users: [alpha], emit: [ids] }',
    );
    await place.write('headgate.yaml', `${lines.replace(/^books: .*\n/mu, '')}status: false\n`);
    expect((await place.headgate('run')).stderr).toContain('1 job, 1 page, 3 ids');
    expect((await place.headgate('read', 'followers.ids')).stdout.match(/"user":"@alpha"/gu)).toHaveLength(3);
    sandbox.child.kill('SIGINT');
    expect((await sandbox.ended).code).toBe(130);
  });

  it('reports in a sentence that its port is in use', async () => {
    await using place = await workplace('');
    await using taken = await listening();
    const address = taken.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const { code, stdout, stderr } = await place.headgate('sandbox', '--kafka', '--port', String(port));
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(`Port ${port} of 127.0.0.1 is in use, or this user may not use it. Choose another one.`);
  });

  it('runs the small job, and stays for other clients until it is stopped', async () => {
    await using place = await workplace('');
    const run = place.start('run', '--sandbox', '--kafka');
    await expect.poll(() => run.text().stderr, { timeout: 300_000 }).toContain('run until you press Ctrl-C');
    expect(run.text().stderr).toContain('None was rate-limited.');
    const read = await place.headgate('read', 'followers.changes', '--config', '.headgate/sandbox.yaml');
    expect([read.code, read.stdout.match(/"followed"/gu)?.length, read.stdout.match(/"unfollowed"/gu)?.length]).toEqual([0, 30, 2]);
    run.child.kill('SIGINT');
    expect((await run.ended).code).toBe(0);
  });
});

/** A server on a port below 32,768. Linux assigns higher ports to outgoing connections, so the four ports after it are usually free. */
async function listening(): Promise<Server> {
  const server = createServer().listen(20_000 + Math.floor(Math.random() * 10_000), '127.0.0.1');
  await once(server, 'listening');
  return server;
}
