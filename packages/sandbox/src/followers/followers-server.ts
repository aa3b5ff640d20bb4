import { checkNumbers } from '../option-number.ts';
import type { Fault } from '../http/fault.ts';
import { createAuthentication } from './follower-credentials.ts';
import type { FollowersCredential } from './follower-credentials.ts';
import { createUserDirectory } from './follower-users.ts';
import type { FollowersUser } from './follower-users.ts';
import type { ErrorFormat } from './followers-answers.ts';
import { createFollowersService } from './followers-service.ts';
import { createLatency } from '../http/latency.ts';
import type { Latency } from '../http/latency.ts';
import { startLoopback } from '../http/loopback-server.ts';
import type { ServedRequest } from '../http/request-log.ts';
import { SandboxOptionError } from '../sandbox-option-error.ts';
import { seededRandom } from '../seeded-random.ts';
import type { WindowOptions } from '../http/window.ts';

/** Options of {@link startFollowers}. */
export interface FollowersSandboxOptions {
  /** Port on 127.0.0.1; default 0, a free one. */
  readonly port?: number;
  /** Accounts by screen name. Default: one, `alpha` with 12,345 followers. */
  readonly users?: Readonly<Record<string, FollowersUser>>;
  /**
   * Accepted credentials. Default: any bearer token and any well-formed OAuth signature. Each token, and each pair of consumer key and
   * token, is its own credential, named `bearer 1`, `oauth 1` and so on.
   */
  readonly credentials?: readonly FollowersCredential[];
  /** Accepts any bearer token in addition to `credentials`. Default: false if `credentials` is set, otherwise true. */
  readonly anyBearer?: boolean;
  /** The window of each credential; default `{ kind: 'first-request', limit: 15, windowMs: 900_000 }`. */
  readonly window?: Partial<WindowOptions>;
  /** Faults, each with the requests that it is applied to. Default: none. */
  readonly faults?: readonly Fault[];
  /** Duration of a response in milliseconds, in real time. Default 0. */
  readonly latencyMs?: Latency;
  /** Sends IDs as strings or numbers: as `stringify_ids` requests, or always one of them. Default `asked`. */
  readonly idFormat?: 'asked' | 'strings' | 'numbers';
  /** Adds `next_cursor_str` and `previous_cursor_str` to pages. Default true. */
  readonly cursorStrings?: boolean;
  /**
   * Format of errors, except for the 429: `errors` with codes, as recorded; or without codes, `problem` (RFC 9457), `text` or `empty`, as
   * later versions of the service and gateways send them. Default `errors`.
   */
  readonly errorFormat?: ErrorFormat;
  /** Seed of IDs, cursors and latencies. Default 1. */
  readonly seed?: number;
  /**
   * Returns epoch milliseconds for windows, `date` headers and OAuth timestamps. Default `Date.now`. Latencies and drips always use real
   * time.
   */
  readonly now?: () => number;
}

/** A running emulator of the followers service. */
export interface FollowersSandbox extends AsyncDisposable {
  /** Base address, without a slash at its end. */
  readonly url: string;
  /** The newest 100,000 requests, oldest first. */
  readonly requests: readonly ServedRequest[];
  /**
   * Returns all current IDs of an account, newest first, without the suspended ones; costs O(followers). Throws `SandboxOptionError` for an unknown
   * account.
   */
  readonly followersOf: (screenName: string) => readonly string[];
  /**
   * Replaces the faults from the next request on, which counts as their request 1. For example,
   * `setFaults([{ name: '503', times: Infinity }])` begins an outage, and `setFaults([])` ends it. Requests that were already read keep
   * their faults. Throws `SandboxOptionError` for an invalid fault, and then changes nothing.
   */
  readonly setFaults: (faults: readonly Fault[]) => void;
  /**
   * Adds or changes an account from the next request on, for example to protect it or to replace its list. An existing account keeps its
   * cursors, and its ID unless `user` sets another. Throws `SandboxOptionError` for invalid values.
   */
  readonly setUser: (screenName: string, user: FollowersUser) => void;
  /** Closes every connection and the server. */
  readonly close: () => Promise<void>;
}

/** Starts an emulator of the followers service on 127.0.0.1. Throws `SandboxOptionError` for invalid options. */
export async function startFollowers(options: FollowersSandboxOptions = {}): Promise<FollowersSandbox> {
  const { port = 0, credentials, window, faults = [], latencyMs = 0, seed = 1, now = Date.now } = options;
  const { users = { alpha: { followers: 12_345 } } } = options;
  checkNumbers({ seed }, { fractions: true });
  checkNumbers({ port }, { least: 0, most: 65_535 });
  const directory = createUserDirectory(users, seed);
  const loopback = await startLoopback({
    ports: [port],
    serve: createFollowersService({
      directory,
      authenticate: createAuthentication({ credentials, anyBearer: options.anyBearer ?? credentials === undefined }),
      window: { kind: 'first-request', limit: 15, windowMs: 900_000, ...window },
      idFormat: options.idFormat ?? 'asked',
      cursorStrings: options.cursorStrings ?? true,
      errorFormat: options.errorFormat ?? 'errors',
    }),
    faults,
    latency: createLatency(latencyMs, seededRandom(seed)),
    now,
  });
  return {
    url: loopback.urls[0] ?? '',
    get requests() {
      return loopback.requests();
    },
    followersOf(screenName) {
      const served = directory.byName(screenName);
      if (served === undefined) throw new SandboxOptionError(`There is no user ${screenName} in users; add it to the options.`);
      return served.list.slice(0, served.list.length());
    },
    setFaults: loopback.setFaults,
    setUser: directory.set,
    close: loopback.close,
    [Symbol.asyncDispose]: loopback.close,
  };
}
