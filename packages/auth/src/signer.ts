/** A secret, or a function that returns the current secret whenever a request is signed, so that the secret can rotate. */
export type Secret = string | (() => string);

/**
 * Returns a secret that has to be fetched or renewed first, such as an OAuth 2 access token. Called for each signed request; the function
 * caches the secret while it is valid. Requests that are signed together share one call.
 */
export type SecretProvider = (context: SecretContext) => string | Promise<string>;

/** Passed to a {@link SecretProvider} at each call. */
export interface SecretContext {
  /** True when the service has refused the last secret: a cached one must be renewed. */
  readonly refused: boolean;
  /** Aborted when no request waits for the secret any more. */
  readonly signal: AbortSignal;
}

/** The parts of a request that a signer reads, exactly as they are sent. */
export interface SignableRequest {
  /** The HTTP method; its case doesn't matter. */
  readonly method: string;
  /** The absolute http(s) URL, with its query. It is read as `new URL(url)` writes it, which is what clients put on the wire. */
  readonly url: string;
  /** The body as it will be sent. Only a form body takes part in a signature. Default: no body. */
  readonly body?: string | Uint8Array;
  /** The `Content-Type` header as it will be sent, parameters and all. Default: none. */
  readonly contentType?: string;
  /**
   * The headers as they will be sent, with names in lowercase. `host`, `content-length` and the signer's own are missing. Signers of this
   * package sign none of them. Default: none.
   */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The headers and parameters that a signer adds to a request. Each value IS a secret: send it, don't log it. */
export interface Signed {
  /** The value of the `Authorization` header. */
  readonly authorization?: string;
  /** Other headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Parameters of the query, decoded; instead of the request's own of those names. */
  readonly query?: Readonly<Record<string, string>>;
  /**
   * Members of a JSON body or fields of a form, instead of the request's own of those names. A request without such a body can't be signed
   * so.
   */
  readonly body?: Readonly<Record<string, string>>;
}

/** The header that most signed requests carry. */
export interface Authorization extends Signed {
  /** The value of the `Authorization` header, a secret: `Bearer …`, `OAuth …`, or the bare key. */
  readonly authorization: string;
}

/** Options of `Signer.sign`, for a signer that may have to wait for its secret. */
export interface SignOptions {
  /** Gives up waiting for a secret: `sign` rejects with its reason. */
  readonly signal?: AbortSignal;
}

/** Adds the sender's authentication to a request. */
export interface Signer {
  /**
   * Signs one request; returns a promise if it must wait for a secret.
   *
   * @throws {@link AuthError} `HEADGATE_INVALID_SECRET` if a secret can't be sent, `HEADGATE_SECRET_UNAVAILABLE` if the function that returns it fails,
   * {@link AuthError} `HEADGATE_UNSIGNABLE_REQUEST` if the request can't be signed.
   */
  sign(request: SignableRequest, options?: SignOptions): Signed | Promise<Signed>;
  /**
   * Corrects the clock of a signer that timestamps its requests, by the difference from the service's clock.
   *
   * Absent if the signature doesn't depend on time. The offset applies only to this signer and replaces an earlier one.
   *
   * @param offsetMs the service's time minus ours, in milliseconds; negative when the service's clock is slow.
   * @throws {@link AuthError} `HEADGATE_INVALID_CLOCK_OFFSET` when the offset is not a finite number.
   */
  adjustClock?(offsetMs: number): void;
  /** Reports to a signer that the service has refused its secret: its function may give another. Absent for a fixed secret. */
  refused?(): void;
}

/** A signer that never has to wait, and sends an `Authorization` header. */
export interface AuthorizationSigner extends Signer {
  /** Like `Signer.sign`, without a promise. It takes no signal, because it never waits. */
  sign(request: SignableRequest): Authorization;
}

/** A signer of one secret: one that never has to wait, unless a function may have to wait for it. */
export type SignerOf<Given extends Secret | SecretProvider> = Given extends Secret ? AuthorizationSigner : Signer;
