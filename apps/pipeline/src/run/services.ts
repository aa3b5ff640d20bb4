import { apiKey, bearer, oauth1 } from '@headgate/auth';
import type { SourceOptions, TryEvent } from '@headgate/sources';
import { type Books, books } from '@headgate/sources/books';
import { type Followers, followers } from '@headgate/sources/followers';
import type { Clock, Journal } from '@headgate/throttle';
import type { BooksConfig, FollowersConfig, FollowersCredential, HttpConfig } from '../config/config.ts';
import type { RunEvent, ServiceName } from '../status/run-event.ts';

export interface ServiceContext {
  readonly clock: Clock;
  readonly emit: (event: RunEvent) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Default: none, for those who ask once and go. */
  readonly journal?: Journal;
}

/** The followers service as the config has it. */
export function followersService(config: FollowersConfig, context: ServiceContext): Followers {
  return followers({
    ...httpOptions('followers', config, context),
    credentials: config.credentials.map((credential) => ({ name: credential.name, signer: signerOf(credential) })),
    limit: { requests: config.limit.requests, windowMs: config.limit.windowMs },
  });
}

/** The book catalogue as the config has it. */
export function booksService(config: BooksConfig, context: ServiceContext): Books {
  return books({
    ...httpOptions('books', config, context),
    plan: config.plan,
    // The same name under every plan: another plan's window goes on with the key.
    credentials: [{ name: 'key', signer: apiKey(config.key) }],
    // A batch that a day has no room for would never go.
    maxBatch: Math.min(config.maxBatch, config.perDay?.isbns ?? Infinity),
    ...(config.perDay !== undefined && { perDay: config.perDay }),
  });
}

function signerOf(credential: FollowersCredential) {
  return 'bearer' in credential ? bearer(credential.bearer) : oauth1(credential.oauth1);
}

function httpOptions(
  service: ServiceName,
  config: HttpConfig,
  { clock, emit, env, journal }: ServiceContext,
): Omit<SourceOptions, 'credentials' | 'limit'> {
  const { baseUrl, timeoutMs, maxBodyBytes, maxDelayMs, retryForMs, userAgent, proxy, ca } = config;
  return {
    baseUrl,
    timeout: timeoutMs,
    maxBodyBytes,
    maxDelayMs,
    retryForMs,
    ...(userAgent !== undefined && { userAgent }),
    ...(proxy !== undefined && { proxy: proxy() }),
    ...(ca !== undefined && { ca }),
    env,
    clock,
    ...(journal !== undefined && { journal }),
    onAttempt: (event) => emit(requestEvent(service, event)),
  };
}

function requestEvent(service: ServiceName, { credential, subject, outcome, status, reason, retryInMs }: TryEvent): RunEvent {
  return {
    type: 'request',
    service,
    credential,
    subject,
    outcome,
    ...(status !== undefined && { status }),
    ...(reason !== undefined && { reason }),
    ...(retryInMs !== undefined && { retryInMs }),
  };
}
