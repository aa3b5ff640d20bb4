import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer as createSocket } from 'node:net';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import { packedHeadgate } from '../install/packed-headgate.ts';
import { type MeasuredProcess, measuredProcess, processCpuMs, type Usage } from '../peers/measured-process.ts';
import { textTable } from '../text-table.ts';
import { pageServer } from '../walk/page-server.ts';

export interface ManyCommandOptions {
  readonly users: number;
  readonly markdown: boolean;
  readonly say: (text: string) => void;
}

interface Measured {
  readonly log: string;
  readonly plan: Usage;
  readonly planBeside: Usage;
  /** Time from the start of the run until its first request arrives. */
  readonly firstRequestMs: number;
  readonly firstRequestCpuMs: number;
  /** CPU ms per second while all jobs wait for the budget and no status page is open. */
  readonly waitingCpuMs: number;
  /** Like `waitingCpuMs`, but with an open status page. */
  readonly watchedCpuMs: number;
  readonly run: Usage;
}

const IDS_PER_PAGE = 100;
/** Wait before measuring, ms, so that the start isn't measured. */
const AT_REST_AFTER_MS = 5_000;
const WAITING_MS = 10_000;
const STOPPED = 130;
const PYTHON = 'python3';

/** Runs `plan` and `run` with a long list and a budget of 15 per 15 minutes. Returns the report, or why nothing was measured. */
export async function manyCommand({ users, markdown, say }: ManyCommandOptions): Promise<string> {
  if (process.platform !== 'linux' || spawnSync(PYTHON, ['--version']).status !== 0)
    return 'Nothing was measured: this benchmark needs Linux and Python 3.\n';
  const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-'));
  try {
    const { command, install } = packedHeadgate(folder);
    say('packing and installing Headgate');
    install();
    const list = join(folder, 'users.txt');
    writeFileSync(list, Array.from({ length: users }, (_, i) => `user_${i}\n`).join(''));
    const loads = loadavg();
    const measured = [await measure({ log: 'embedded', topics: 'driver: sqlite, file: ./log.db', command, list, folder, say })];
    const why = await whyNoKafkaBroker();
    if (why === undefined) {
      await using broker = await startKafkaBroker();
      const topics = `driver: kafka, brokers: [${broker.brokers.join(', ')}], replication: 1`;
      measured.push(await measure({ log: 'kafka', topics, command, list, folder, say }));
    } else say(`no Kafka: ${why}`);
    const load = `load ${loads[0]?.toFixed(1) ?? ''}-${loadavg()[0]?.toFixed(1) ?? ''} on ${availableParallelism()} cores`;
    return `${users.toLocaleString('en-US')} listed users, 15 requests per 15 minutes; CPU of whole processes, ${load}\n\n${report(measured, markdown)}\n`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface MeasureOptions {
  readonly log: string;
  readonly topics: string;
  readonly command: string;
  readonly list: string;
  readonly folder: string;
  readonly say: (text: string) => void;
}

async function measure({ log, topics, command, list, folder: parent, say }: MeasureOptions): Promise<Measured> {
  const folder = mkdtempSync(join(parent, `${log}-`));
  const server = pageServer({ pages: 1, idsPerPage: IDS_PER_PAGE }).listen(0, '127.0.0.1');
  let run: MeasuredProcess | undefined;
  try {
    await once(server, 'listening');
    const statusPort = await freePort();
    writeFileSync(
      join(folder, 'headgate.yaml'),
      `topics: { ${topics} }
status: { port: ${statusPort} }
followers:
  baseUrl: http://127.0.0.1:${(server.address() as AddressInfo).port}
  credentials: [{ name: app, bearer: token }]
  limit: { requests: 15, window: 15m }
  users: [{ file: ${list} }]
`,
    );
    const plan = (): Promise<Usage> => measuredProcess(PYTHON, { argv: [command, 'plan'], folder }).ended();
    // The first run fills the cache of compiled code.
    await plan();
    const alone = await plan();
    say(`${log}: plan ${seconds(alone.cpuMs)} s of CPU`);

    const first = once(server, 'request').then(() => Date.now());
    run = measuredProcess(PYTHON, { argv: [command, 'run'], folder });
    const ended = run.ended(STOPPED);
    const [pid, startedAtMs] = await Promise.all([run.pid, run.startedAtMs]);
    // A failed run can end without a request, so its end also ends this wait.
    const firstAtMs = await Promise.race([first, ended.then(() => NaN)]);
    const firstRequestCpuMs = processCpuMs(pid);
    say(`${log}: first request after ${seconds(firstAtMs - startedAtMs)} s, ${seconds(firstRequestCpuMs)} s of CPU`);
    await sleep(AT_REST_AFTER_MS);
    const waitingCpuMs = await cpuOver(pid, WAITING_MS);
    const watching = new AbortController();
    await fetch(`http://127.0.0.1:${statusPort}/`).then(async (page) => await page.text());
    const { body } = await fetch(`http://127.0.0.1:${statusPort}/events`, { signal: watching.signal });
    const read = body?.pipeTo(new WritableStream()).catch(() => undefined);
    const watchedCpuMs = await cpuOver(pid, WAITING_MS);
    watching.abort();
    await read;
    const planBeside = await plan();
    run.stop();
    return {
      log,
      plan: alone,
      planBeside,
      firstRequestMs: firstAtMs - startedAtMs,
      firstRequestCpuMs,
      waitingCpuMs,
      watchedCpuMs,
      run: await ended,
    };
  } finally {
    run?.stop();
    server.closeAllConnections();
    server.close();
  }
}

async function cpuOver(pid: number, ms: number): Promise<number> {
  const before = processCpuMs(pid);
  await sleep(ms);
  return ((processCpuMs(pid) - before) * 1_000) / ms;
}

async function freePort(): Promise<number> {
  const socket = createSocket().listen(0, '127.0.0.1');
  await once(socket, 'listening');
  const { port } = socket.address() as AddressInfo;
  socket.close();
  await once(socket, 'close');
  return port;
}

function report(measured: readonly Measured[], markdown: boolean): string {
  const usage = ({ cpuMs, wallMs, peakBytes }: Usage): string[] => [seconds(cpuMs), seconds(wallMs), megabytes(peakBytes)];
  const rows: readonly (readonly [string, (one: Measured) => readonly string[]])[] = [
    ['plan', ({ plan }) => usage(plan)],
    ['plan, beside the run', ({ planBeside }) => usage(planBeside)],
    ['run, to its first request', ({ firstRequestCpuMs, firstRequestMs }) => [seconds(firstRequestCpuMs), seconds(firstRequestMs), '']],
    ['run, to the end', ({ run }) => usage(run)],
    ['run, a second of waiting', ({ waitingCpuMs }) => [seconds(waitingCpuMs), '1', '']],
    ['run, the same with the page open', ({ watchedCpuMs }) => [seconds(watchedCpuMs), '1', '']],
  ];
  return textTable({
    head: ['', 'log', 'CPU s', 'wall s', 'peak MB'],
    rows: rows.flatMap(([name, cells]) => measured.map((one) => [name, one.log, ...cells(one)])),
    markdown,
  });
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(ms < 1_000 ? 3 : 2);
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}
