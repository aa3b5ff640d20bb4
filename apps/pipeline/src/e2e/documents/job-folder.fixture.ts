import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type Ended, run } from '../../../../../scripts/run.ts';
import { HEADGATE } from '../headgate-process.fixture.ts';

/** Environment variables with the secrets of the examples. */
const SERVICES = [
  'GITHUB_TOKEN',
  'STRIPE_KEY',
  'ZENDESK_TOKEN',
  'HUBSPOT_TOKEN',
  'NOTION_TOKEN',
  'SLACK_TOKEN',
  'JIRA_TOKEN',
  'PAYPAL_ID',
  'PAYPAL_SECRET',
];
export const ENV: Readonly<Record<string, string>> = {
  TOKEN: 'a-token',
  SECOND_TOKEN: 'another-token',
  FOLLOWERS_BEARER_TOKEN: 'a-token',
  BOOKS_KEY: 'a-key',
  KAFKA_PASSWORD: 'a-password',
  ...Object.fromEntries(['ID', 'SECRET', 'PASSWORD', 'KEY'].map((name) => [name, 'a-secret'])),
  ...Object.fromEntries(SERVICES.map((name) => [name, 'a-secret'])),
};
const LISTS = {
  'issue.schema.json': '{ "type": "object" }',
  'users.txt': 'beta\n',
  'isbns.txt': '9780306406157\n',
  'more-repos.txt': 'c/d\n',
};

/** The command. After `init`, the written file is replaced by the job's configuration, as a user would do by hand. */
const COMMAND = `#!/bin/sh
[ "$1" != init ] || rm -f headgate.yaml
${HEADGATE.map((part) => `'${part}'`).join(' ')} "$@" || exit
[ "$1" != init ] || cp written.yaml headgate.yaml
`;
/** A substitute for npm. It runs Headgate for `start` and `run --silent headgate`, and does nothing for `install`. */
const NPM = `#!/bin/sh
case "$1 $2 $3" in
  'start -- '*) shift 2; exec headgate "$@" ;;
  'run --silent headgate') shift 4; exec headgate "$@" ;;
  'install '*) exit 0 ;;
esac
echo "npm $*: not run here" >&2
exit 1
`;

/** Folders in which examples run. Each starts as the folder of a user who has run the job of docs/start.md. */
export interface JobFolders extends AsyncDisposable {
  /** Creates the folder of a page, with these files added. The blocks of the page then change it one after another. */
  of(page: string, files?: Readonly<Record<string, string>>): Promise<string>;
  /** Runs a shell script in a folder, with `headgate` as the published command. */
  sh(folder: string, script: string): Promise<Ended>;
}

export interface JobFoldersOptions {
  readonly config: string;
  /** The module of a pipeline, saved as `issues.ts` next to the configuration. */
  readonly module: string;
}

export async function jobFolders({ config, module }: JobFoldersOptions): Promise<JobFolders> {
  const home = await mkdtemp(join(tmpdir(), 'headgate-documents-'));
  const [tools, done] = [join(home, 'bin'), join(home, 'done')];
  await mkdir(tools);
  await mkdir(done);
  for (const [name, text] of Object.entries({ headgate: COMMAND, npm: NPM })) await writeFile(join(tools, name), text, { mode: 0o755 });
  const files = { ...LISTS, 'headgate.yaml': config, 'written.yaml': config, 'issues.ts': module };
  for (const [name, text] of Object.entries(files)) await writeFile(join(done, name), text, { mode: 0o600 });

  const PATH = [tools, process.env['PATH']].join(delimiter);
  const env = { ...ENV, PATH, TZ: 'UTC', HOME: home, NODE_OPTIONS: '--conditions=@headgate/source' };
  const sh: JobFolders['sh'] = async (cwd, script) => await run(['sh', '-e', '-c', script], { cwd, env });
  const { code, stderr } = await sh(done, 'headgate run');
  if (code !== 0) throw new Error(`the job of the documents ended with ${code}: ${stderr}`);
  return {
    async of(page, files = {}) {
      const folder = join(home, page.replaceAll('/', '-'));
      await cp(done, folder, { recursive: true });
      for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text, { mode: 0o600 });
      return folder;
    },
    sh,
    [Symbol.asyncDispose]: async () => rm(home, { recursive: true, force: true }),
  };
}
