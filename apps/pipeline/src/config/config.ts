/** What a headgate.yaml says once it has been read: paths absolute, durations in ms, defaults filled in, secrets behind functions. */
export interface Config {
  /** Absolute path of the file. */
  readonly file: string;
  readonly topics: TopicsConfig;
  readonly status: false | StatusConfig;
  readonly followers?: FollowersConfig;
  readonly books?: BooksConfig;
}

export interface StatusConfig {
  readonly port: number;
  readonly host: string;
  /** Names the page may be asked by besides its host, `localhost` and addresses; in lower case. */
  readonly names: readonly string[];
}

export type TopicsConfig = SqliteTopicsConfig | KafkaTopicsConfig;

export interface SqliteTopicsConfig {
  readonly driver: 'sqlite';
  /** Absolute path. */
  readonly file: string;
  readonly group: string;
  readonly lanes: number;
}

export interface KafkaTopicsConfig {
  readonly driver: 'kafka';
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly group: string;
  readonly lanes: number;
  readonly replication: number;
  readonly compression: 'none' | 'gzip' | 'zstd';
  readonly ssl: boolean | { readonly ca?: string; readonly cert?: string; readonly key?: Secret };
  readonly sasl?: SaslConfig;
}

/** Who we are to the brokers. */
export type SaslConfig =
  | { readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512'; readonly username: string; readonly password: Secret }
  | { readonly mechanism: 'oauthbearer'; readonly token: Secret }
  /** Absolute path; the token in it may be another one whenever it is needed. */
  | { readonly mechanism: 'oauthbearer'; readonly tokenFile: string };

/** A secret is read when it is needed, so that no object that might be printed holds it. */
export type Secret = () => string;

export interface HttpConfig {
  readonly baseUrl: string;
  /** Per try, all in all. */
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  readonly userAgent?: string;
  /** A proxy's address, which may hold a password; empty for none. Default: what HTTPS_PROXY and NO_PROXY of the environment say. */
  readonly proxy?: Secret;
  /** PEM text of an own certificate authority. */
  readonly ca?: string;
  /** Longest a request that was sent may take to be counted by the service. */
  readonly maxDelayMs: number;
  /** Longest a request is tried again before it is given up as a dead letter. */
  readonly retryForMs: number;
}

export interface FollowersConfig extends HttpConfig {
  readonly credentials: readonly FollowersCredential[];
  readonly limit: { readonly requests: number; readonly windowMs: number };
  readonly count: number;
  readonly stringifyIds: boolean;
  readonly maxOutstanding: number;
  /** Most empty pages in a row before a walk is ended. */
  readonly maxEmptyPages: number;
  /** In the order given, files read, duplicates removed. */
  readonly users: readonly UserReference[];
  readonly emit: readonly ('pages' | 'ids' | 'changes')[];
  readonly everyMs?: number;
  readonly dropBoundaryDuplicates: boolean;
}

export type FollowersCredential =
  | { readonly name: string; readonly bearer: Secret }
  | {
      readonly name: string;
      readonly oauth1: {
        readonly consumerKey: Secret;
        readonly consumerSecret: Secret;
        readonly token?: Secret;
        readonly tokenSecret?: Secret;
      };
    };

export type UserReference = { readonly screenName: string } | { readonly userId: string };

export interface BooksConfig extends HttpConfig {
  readonly plan: 'default' | 'premium' | 'pro';
  readonly key: Secret;
  readonly maxBatch: number;
  readonly perDay?: { readonly isbns: number; readonly resetsAt: string; readonly zone: string };
  /** ISBN texts as written: malformed ones become dead letters when they are worked, not config errors. */
  readonly isbns: readonly string[];
  readonly authors: readonly string[];
  /** Books to ask for per page of an author. */
  readonly pageSize: number;
  /** Most pages of an author for one request. */
  readonly maxPages: number;
  readonly everyMs?: number;
  readonly maxOutstanding: number;
}
