import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { runOnLifeline } from './lifeline-command.fixture.ts';

const REQUIREMENTS = ['confluent-kafka==2.16.1'];

/** A Python with confluent-kafka, or why there is none. Created once, in `$XDG_CACHE_HOME/headgate` or `~/.cache/headgate`. */
export async function pythonWithKafka(
  requirements: readonly string[] = REQUIREMENTS,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<{ readonly python: string; readonly why?: undefined } | { readonly python?: undefined; readonly why: string }> {
  const cache = join(environment['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'headgate');
  await mkdir(cache, { recursive: true });

  const build = await run(cache, 'python3', '-c', 'import sys; print(sys.version)');
  if (build.why !== undefined) return { why: `there is no python3 (${build.why})` };

  const hash = createHash('sha256')
    .update(`${requirements.join(' ')}\n${build.said}`)
    .digest('hex')
    .slice(0, 12);
  const folder = join(cache, `python-${hash}`);
  const python = join(folder, 'bin', 'python');
  if (!existsSync(folder)) {
    const why = await makeIn(cache, folder, requirements);
    if (why !== undefined) return { why };
  }
  const { why } = await run(cache, python, '-c', 'import confluent_kafka');
  return why === undefined ? { python } : { why: `${folder} has no confluent-kafka that works (${why}); remove it` };
}

/** Creates the environment under a temporary name and then renames it, so that an existing one is complete. Returns why it can't be created. */
async function makeIn(cache: string, folder: string, requirements: readonly string[]): Promise<string | undefined> {
  const workshop = await mkdtemp(`${folder}.making-`);
  try {
    const unfinished = join(workshop, 'venv');
    const made = await run(cache, 'python3', '-m', 'venv', unfinished);
    if (made.why !== undefined) return `python3 makes no venv (${made.why})`;
    // Installs only prebuilt packages, because the machine might have no compiler.
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--retries=1', '--timeout=10', '--only-binary=:all:'];
    const installed = await run(cache, join(unfinished, 'bin', 'python'), ...pip, ...requirements);
    if (installed.why !== undefined) return `pip installs no ${requirements.join(' ')} (${installed.why})`;
    // Another process can create the environment in the meantime.
    await rename(unfinished, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error;
    });
    return undefined;
  } finally {
    await rm(workshop, { recursive: true, force: true });
  }
}

/** Runs a command. Returns its output, and in `why` the reason if it failed. */
async function run(folder: string, ...command: readonly string[]): Promise<{ readonly said: string; readonly why?: string }> {
  try {
    const { exitCode, lines, stderr } = await runOnLifeline({ command, folder });
    const said = lines.join('\n');
    return exitCode === 0 ? { said } : { said, why: stderr.trim().split('\n').at(-1) || `exit code ${exitCode}` };
  } catch (error) {
    return { said: '', why: error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error) };
  }
}
