import { type FollowersUser, SandboxOptionError, parseFault, startBooks, startFollowers } from '@headgate/sandbox';
import { duration } from '@headgate/pipeline';
import { untilAborted } from '@headgate/throttle/internal';
import type { CommandContext } from './command-context.ts';
import { UsageError } from './usage-error.ts';

const SERVICES_PORT = 8701;

export interface SandboxCommandOptions {
  /** First of four ports, or of five with a Kafka broker; 0 picks free ones. Default: 8701, or 9092 with a broker. */
  readonly port?: number;
  /** Whether to also start a real Kafka broker, on the first port. Default: false. */
  readonly kafka?: boolean;
  /** `name=followers`, `name=protected` or `name=suspended`. */
  readonly user: readonly string[];
  /** Limit of the followers service as `requests/window`, such as `15/60s`. */
  readonly limit: string;
  readonly fault: readonly string[];
  readonly booksFault: readonly string[];
}

/** Runs the emulators until a signal stops them. Writes their addresses to stdout as parts of a headgate.yaml. Resolves to the exit code. */
export async function sandbox(options: SandboxCommandOptions, context: CommandContext): Promise<number> {
  const { stdout, stderr, signal } = context;
  const brokers = options.kafka === true ? await import('./sandbox-broker.ts') : undefined;
  const { port: first = brokers?.KAFKA_PORT ?? SERVICES_PORT } = options;
  const port = brokers !== undefined && first !== 0 ? first + 1 : first;
  try {
    const limit = limitOf(options.limit);
    const users = options.user.length === 0 ? USERS : Object.fromEntries(options.user.map(userOf));
    await using followers = await startFollowers({
      port,
      users,
      window: { limit: limit.requests, windowMs: limit.windowMs },
      faults: options.fault.map(parseFault),
    });
    await using books = await startBooks({ port: port === 0 ? 0 : port + 1, faults: options.booksFault.map(parseFault) });
    await using broker = await brokers?.startSandboxBroker({ port: first }, context);
    if (broker !== undefined) stdout.write(`topics: ${broker.topics}\n`);
    stdout.write(`followers: { baseUrl: "${followers.url}"${limitKey(limit)} }\n`);
    stdout.write(`books: { baseUrls: { default: "${books.urls.default}", premium: "${books.urls.premium}", pro: "${books.urls.pro}" } }\n`);
    const names = Object.entries(users).map(([name, user]) => `${name} (${describe(user)})`);
    stderr.write(`accounts: ${names.join(', ')}\n`);
    if (broker !== undefined) stderr.write('The broker is a real single-node Kafka. Its topics are deleted when it stops.\n');
    stderr.write('They accept any bearer token, any well-formed OAuth signature, and any key. Press Ctrl-C to stop it.\n');
    await untilAborted(signal);
    stderr.write(`${followers.requests.length} followers requests and ${books.requests.length} books requests were answered.\n`);
    return 130;
  } catch (error) {
    if (error instanceof SandboxOptionError) throw new UsageError(error.message, { cause: error });
    throw error;
  }
}

/** The accounts if the user names none. */
const USERS: Readonly<Record<string, FollowersUser>> = {
  alpha: { followers: 57_345 },
  beta: { followers: 12_001, shiftEvery: 1 },
  gamma: { followers: 23_000, suspendedShare: 0.3 },
  delta: { followers: 7 },
  epsilon: { followers: 0 },
  carol: { protected: true },
};

function userOf(text: string): [string, FollowersUser] {
  const [, name, what] = /^@?(\w+)=(\d+|protected|suspended)$/.exec(text) ?? [];
  if (name === undefined || what === undefined)
    throw new UsageError(`sandbox: ${JSON.stringify(text)} isn't a user. Write name=12000, name=protected or name=suspended.`);
  if (what === 'protected') return [name, { protected: true }];
  return [name, what === 'suspended' ? { error: 63 } : { followers: Number(what) }];
}

interface SandboxLimit {
  readonly requests: number;
  readonly windowMs: number;
  /** The window as the user wrote it. */
  readonly window: string;
}

/** The `limit` setting for a headgate.yaml. Empty if the limit is the service's usual one. */
function limitKey({ requests, windowMs, window }: SandboxLimit): string {
  return requests === 15 && windowMs === 900_000 ? '' : `, limit: { requests: ${requests}, window: ${window} }`;
}

function limitOf(text: string): SandboxLimit {
  const [, requests, window] = /^(\d+)\/(.+)$/.exec(text) ?? [];
  const windowMs = window === undefined ? undefined : duration().safeParse(window).data;
  if (requests === undefined || window === undefined || windowMs === undefined) {
    throw new UsageError(`sandbox: ${JSON.stringify(text)} isn't a limit. Write requests per window, such as 15/15m or 15/12s.`);
  }
  return { requests: Number(requests), windowMs, window };
}

function describe({ followers = 0, protected: isProtected, error }: FollowersUser): string {
  if (isProtected === true) return 'protected';
  if (error !== undefined) return 'suspended';
  return typeof followers === 'number' ? `${followers} followers` : `${followers.length} followers`;
}
