import type { AnswerReader } from '../wire/answer-reader.ts';
import { refusalsOf } from './partition-answers.ts';
import type { Answered, Request } from './request.ts';

/** Supported versions by the API key of a request. A request without an entry isn't supported. */
export type SupportedVersions = ReadonlyMap<number, { readonly min: number; readonly max: number }>;

export interface ApiVersions {
  readonly versions: SupportedVersions;
  /** Levels of the features that the cluster's operator has enabled, by name. */
  readonly features: ReadonlyMap<string, number>;
}

/** Tag of the field with the enabled features. */
const FINALIZED_FEATURES = 2;

/** The first request on a connection. Brokers answer it before authentication, too. */
export const apiVersions: Request<unknown, ApiVersions> = {
  api: 'ApiVersions',
  key: 18,
  version: 3,
  isFlexible: true,
  plainHead: true,
  to: 'any',
  needs: () => [],
  write: (body) => body.string('headgate').string('0').tags(),
  read(from) {
    const refusals = refusalsOf(from.int16());
    let features: ApiVersions['features'] = new Map();
    // A broker that doesn't support this version of the request responds in another format.
    if (refusals.length > 0) return { throttleMs: 0, refusals, answer: { versions: new Map(), features } };
    const versions = from.array((): [number, { readonly min: number; readonly max: number }] => {
      const version: [number, { readonly min: number; readonly max: number }] = [from.int16(), { min: from.int16(), max: from.int16() }];
      from.tags();
      return version;
    });
    const throttleMs = from.int32();
    from.tags((tag) => {
      if (tag === FINALIZED_FEATURES) features = levels(from);
    });
    return { throttleMs, refusals, answer: { versions: new Map(versions), features } };
  },
};

function levels(from: AnswerReader): ReadonlyMap<string, number> {
  return new Map(
    from.array(() => {
      const level: [name: string, most: number] = [from.string(), from.int16()];
      // Skip the minimum level.
      from.int16();
      from.tags();
      return level;
    }),
  );
}

/** Chooses the mechanism of the authentication that follows. */
export const saslHandshake: Request<{ readonly mechanism: string }, void> = {
  api: 'SaslHandshake',
  key: 17,
  version: 1,
  to: 'any',
  needs: () => [],
  write: (body, { mechanism }) => body.string(mechanism),
  // The response also lists the mechanisms that the broker enables.
  read: (from): Answered<void> => ({ throttleMs: 0, refusals: refusalsOf(from.int16()), answer: undefined }),
};

export interface SaslAnswer {
  readonly message: Buffer;
  /** How long the session lasts if this message ends the authentication, ms; 0 for an unlimited one. */
  readonly sessionMs: number;
}

/** Sends one message of an authentication. */
export const saslAuthenticate: Request<{ readonly message: Buffer }, SaslAnswer> = {
  api: 'SaslAuthenticate',
  key: 36,
  version: 1,
  to: 'any',
  needs: () => [],
  write: (body, { message }) => body.bytes([message]),
  read(from) {
    const [errorCode, text] = [from.int16(), from.string()];
    const refusals = errorCode === 0 ? [] : [{ errorCode, text }];
    return { throttleMs: 0, refusals, answer: { message: from.bytes(), sessionMs: Number(from.int64()) } };
  },
};
