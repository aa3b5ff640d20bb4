/**
 * Emulators of the followers and books services, with their limits and with faults on demand, for tests and for a first run.
 *
 * @packageDocumentation
 */
export { startBooks } from './books/books-server.ts';
export type { BooksSandbox, BooksSandboxOptions } from './books/books-server.ts';
export type { BooksKey, BooksPlan } from './books/books-service.ts';
export type { DailyQuotaOptions } from './books/daily-quota.ts';
export { faultNames, parseFault } from './http/fault.ts';
export type { Fault, FaultName, FaultPlace } from './http/fault.ts';
export type { ErrorFormat } from './followers/followers-answers.ts';
export type { FollowersCredential } from './followers/follower-credentials.ts';
export type { FollowersUser } from './followers/follower-users.ts';
export { startFollowers } from './followers/followers-server.ts';
export type { FollowersSandbox, FollowersSandboxOptions } from './followers/followers-server.ts';
export { sampleIsbn } from './books/isbn.ts';
export type { Latency } from './http/latency.ts';
export type { ServedRequest } from './http/request-log.ts';
export { SandboxOptionError } from './sandbox-option-error.ts';
export type { WindowKind, WindowOptions } from './http/window.ts';
