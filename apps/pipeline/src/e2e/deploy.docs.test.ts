import { spawn, spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { loadConfig } from '../config/config-folder.fixture.ts';
import { workplace } from './headgate-process.fixture.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const PORT = 9464;
const WITHOUT_SYSTEMD = spawnSync('systemd-analyze', ['--version']).status !== 0;

const mapping = z.record(z.string(), z.string());
const probe = z.object({ httpGet: z.object({ path: z.string(), port: z.literal('status') }) });
const container = z.object({
  args: z.array(z.string()),
  env: z.array(z.object({ name: z.string() })),
  ports: z.tuple([z.object({ name: z.literal('status'), containerPort: z.literal(PORT) })]),
  startupProbe: probe,
  livenessProbe: probe,
  readinessProbe: probe,
  securityContext: z.object({ readOnlyRootFilesystem: z.literal(true) }),
  volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })),
});
const deployment = z.object({
  spec: z.object({
    template: z.object({
      metadata: z.object({ labels: mapping, annotations: mapping }),
      spec: z.object({
        terminationGracePeriodSeconds: z.number().min(11),
        containers: z.tuple([container]),
        volumes: z.array(z.object({ name: z.string() })),
      }),
    }),
  }),
});
const networkPolicy = z.object({
  spec: z.object({
    podSelector: z.object({ matchLabels: mapping }),
    ingress: z.array(z.object({ ports: z.array(z.object({ port: z.string() })) })),
  }),
});

describe('deploy/kubernetes.yaml', () => {
  it('has a configuration that loads, from the files and variables that its container has', async () => {
    const { config, secret, pod } = await kubernetes();
    const [{ args, env, volumeMounts }] = pod.containers;
    const yaml = config['headgate.yaml'] ?? '';
    expect(args.at(-1)).toBe('/etc/headgate/headgate.yaml');
    expect(volumeMounts.filter(({ name }) => !pod.volumes.some((volume) => volume.name === name))).toEqual([]);
    const folder = await mkdtemp(join(tmpdir(), 'headgate-deploy-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const mounted = volumeMounts.find(({ name }) => name === 'secrets')?.mountPath ?? '';
    const files = [...yaml.matchAll(/file: ([^ }]+)/gu)].map(([, path = '']) => path);
    expect(files.toSorted()).toEqual(
      Object.keys(secret)
        .map((key) => join(mounted, key))
        .toSorted(),
    );
    for (const [key, value] of Object.entries(secret)) await writeFile(join(folder, key), value, { mode: 0o600 });
    await writeFile(join(folder, 'headgate.yaml'), yaml.replaceAll(mounted, folder), { mode: 0o600 });
    const given = Object.fromEntries(env.map(({ name }) => [name, 'headgate-0']));
    const { config: loaded, warnings } = await loadConfig({ file: join(folder, 'headgate.yaml'), env: given });
    expect(warnings).toEqual([]);
    expect(loaded.topics).toMatchObject({ driver: 'kafka', clientId: 'headgate-0' });
    expect(loaded.status).toMatchObject({ port: PORT, host: '0.0.0.0' });
    expect(loaded.pipelines.flatMap((pipeline) => pipeline.secretIssues())).toEqual([]);
  });

  it('lets the port of its probes through its network policy, and selects its own pods', async () => {
    const { policy, pod, labels } = await kubernetes();
    expect(labels).toMatchObject(policy.podSelector.matchLabels);
    const names = pod.containers[0].ports.map(({ name }) => name);
    expect(policy.ingress.flatMap(({ ports }) => ports.map(({ port }) => port))).toEqual(names);
  });
});

describe('a deployed process', () => {
  it('answers each probe, passes the image’s health check while it lives, and ends by SIGTERM as the unit expects', async () => {
    await using place = await workplace(
      'status: { port: 0, host: 127.0.0.1 }\nfollowers:\n  baseUrl: https://api.example.com\n  credentials: [{ name: app, bearer: any }]\n',
    );
    const run = place.start('run', '--follow');
    const url = (): string => /status at (\S+)\//u.exec(run.text().stderr)?.[1] ?? '';
    await expect.poll(url).not.toBe('');
    const address = url();
    const { pod, annotations } = await kubernetes();
    const [{ startupProbe, livenessProbe, readinessProbe }] = pod.containers;
    const paths = [startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet.path);
    for (const path of [...paths, annotations['prometheus.io/path']]) {
      await expect.poll(async () => (await fetch(`${address}${path}`)).status).toBe(200);
    }
    const [, check = ''] = /^HEALTHCHECK [^]*?CMD (\[.*\])$/mu.exec(await readFile(join(ROOT, 'deploy/Dockerfile'), 'utf8')) ?? [];
    const [, ...args] = z.array(z.string()).parse(JSON.parse(check));
    const healthy = async (): Promise<number | null> =>
      await new Promise((resolve) => {
        const child = spawn(
          process.execPath,
          args.map((arg) => arg.replace(`http://127.0.0.1:${PORT}`, address)),
        );
        child.on('close', resolve);
      });
    expect(await healthy()).toBe(0);
    run.child.kill('SIGTERM');
    const { code } = await run.ended;
    expect(await healthy()).toBe(1);
    expect(await readFile(join(ROOT, 'deploy/headgate.service'), 'utf8')).toContain(`\nSuccessExitStatus=${code}\n`);
  });
});

it.skipIf(WITHOUT_SYSTEMD)(
  `systemd-analyze accepts deploy/headgate.service${WITHOUT_SYSTEMD ? ': skipped, there is no systemd-analyze' : ''}`,
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'headgate-unit-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const unit = await readFile(join(ROOT, 'deploy/headgate.service'), 'utf8');
    const file = join(folder, 'headgate.service');
    // `systemd-analyze` requires an existing program, and Headgate isn't installed here.
    await writeFile(
      file,
      unit.replace('ExecStart=/usr/local/bin/headgate', `ExecStart=${JSON.stringify(process.execPath).replaceAll('%', '%%')}`),
    );
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
    expect([status, stderr.split('\n').filter((line) => line.includes('headgate'))]).toEqual([0, []]);
  },
);

it.skipIf(process.env['HEADGATE_TORTURE'] !== '1')(
  'the RUN steps of deploy/Dockerfile make what its ENTRYPOINT starts (npm run torture)',
  async () => {
    const place = await mkdtemp(join(tmpdir(), 'headgate-image-'));
    onTestFinished(() => rm(place, { recursive: true }));
    const text = await readFile(join(ROOT, 'deploy/Dockerfile'), 'utf8');
    const ignored = (await readFile(join(ROOT, 'deploy/Dockerfile.dockerignore'), 'utf8')).split('\n').map((line) => basename(line));
    const src = join(place, 'src');
    await cp(ROOT, src, { recursive: true, filter: (path) => !ignored.includes(basename(path)) });
    for (const [, step = ''] of text.matchAll(/^RUN (.+)$/gmu)) {
      const there = step.replaceAll(/(?<= )\/(?=packed|app|state)/gu, `${place}/`);
      const { status, stderr } = spawnSync('sh', ['-c', there], { cwd: src, encoding: 'utf8' });
      expect([status, status === 0 ? '' : stderr], there).toEqual([0, '']);
    }
    const [, entry = ''] = /^ENTRYPOINT \["(.+)"\]$/mu.exec(text) ?? [];
    await mkdir(join(place, 'work'));
    const started = spawnSync(join(place, entry), ['--version'], { cwd: join(place, 'work'), encoding: 'utf8' });
    expect([started.status, started.stdout]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/u)]);
  },
);

it.each(['production', 'troubleshooting', 'observe'])('docs/%s.md names commands and alerts that there are', async (name) => {
  const page = await readFile(join(ROOT, `docs/${name}.md`), 'utf8');
  const found = (pattern: RegExp): string[] => [...new Set([...page.matchAll(pattern)].map(([, name = '']) => name))];
  await using place = await workplace('');
  const { stdout } = await place.headgate('--help');
  const commands = found(/(?:^|`)headgate ([a-z]+)/gmu);
  expect(commands).not.toEqual([]);
  expect(commands.filter((name) => !new RegExp(`^  ${name}\\b`, 'mu').test(stdout))).toEqual([]);
  const alerts = await readFile(join(ROOT, 'docs/alerts.yaml'), 'utf8');
  expect(found(/\b(Headgate[A-Z]\w+)/gu).filter((name) => !alerts.includes(`alert: ${name}\n`))).toEqual([]);
});

async function kubernetes() {
  const documents = parseAllDocuments(await readFile(join(ROOT, 'deploy/kubernetes.yaml'), 'utf8'));
  const objects = documents.map((document) => {
    expect(document.errors).toEqual([]);
    return z.looseObject({ apiVersion: z.string(), kind: z.string() }).parse(document.toJS());
  });
  const of = (kind: string): unknown => objects.find((object) => object.kind === kind);
  const { template } = deployment.parse(of('Deployment')).spec;
  return {
    config: z.object({ data: mapping }).parse(of('ConfigMap')).data,
    secret: z.object({ stringData: mapping }).parse(of('Secret')).stringData,
    policy: networkPolicy.parse(of('NetworkPolicy')).spec,
    pod: template.spec,
    labels: template.metadata.labels,
    annotations: template.metadata.annotations,
  };
}
