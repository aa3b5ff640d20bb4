/** A secret, or a function that returns the current secret for each request, so that the secret can rotate. */
export type Secret = string | (() => string);

/**
 * Returns a secret that must be fetched or renewed first, such as an OAuth 2 access token. A signer can call it for each request, so the function
 * should cache the secret while it is valid. Requests that are signed at the same time can share one promise.
 */
export type SecretProvider = (context: SecretContext) => string | PromiseLike<string>;

/** Context of each call of a {@link SecretProvider}. */
export interface SecretContext {
  /** True if the service has refused the last secret, so that the function should renew a cached one. */
  readonly refused: boolean;
  /** Aborts when every request that waited for the secret has given up. */
  readonly signal: AbortSignal;
}

/** The parts of a request that a signer reads, exactly as they are sent. */
export interface SignableRequest {
  /** The HTTP method, in uppercase or lowercase. */
  readonly method: string;
  /** The absolute http or https URL, with its query. It is signed in the normalized form of `new URL(url)`, which is what clients send. */
  readonly url: string;
  /** The body as it will be sent. A signature covers only a form body. Default: no body. */
  readonly body?: string | Uint8Array;
  /** The `Content-Type` header as it will be sent, including its parameters. Default: none. */
  readonly contentType?: string;
  /**
   * The headers as they will be sent, with names in lowercase, but without `host`, `content-length` and those of the signer. The signers of
   * this package sign none of them. Default: none.
   */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The headers and parameters that a signer adds to a request. Each value IS a secret: send it, don't log it. */
export interface Signed {
  /** The value of the `Authorization` header. */
  readonly authorization?: string;
  /** Other headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Parameters of the query, decoded. They replace the request's parameters of the same names. */
  readonly query?: Readonly<Record<string, string>>;
  /**
   * Members of a JSON body, or fields of a form. They replace the request's members or fields of the same names. A request without such a
   * body can't be signed in this way.
   */
  readonly body?: Readonly<Record<string, string>>;
}

/** The result of signing with an `Authorization` header. */
export interface Authorization extends Signed {
  /** The value of the `Authorization` header, a secret: `Bearer …`, `OAuth …`, or the bare key. */
  readonly authorization: string;
}

/** Options of `Signer.sign`, for a signer that may have to wait for its secret. */
export interface SignOptions {
  /** Ends the wait for a secret: `sign` rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Adds the sender's authentication to a request. */
export interface Signer {
  /**
   * Signs one request; returns a promise if the secret's function did.
   *
   * @throws {@link AuthError} `HEADGATE_INVALID_SECRET` if a secret is invalid, `HEADGATE_SECRET_UNAVAILABLE` if the function that returns
   * it fails, or `HEADGATE_UNSIGNABLE_REQUEST` if the request can't be signed.
   */
  sign(request: SignableRequest, options?: SignOptions): Signed | Promise<Signed>;
  /**
   * Corrects the clock of a signer whose signatures have a timestamp.
   *
   * Absent if the signature doesn't depend on time. The offset applies only to this signer, and replaces an earlier one.
   *
   * @param offsetMs the service's time minus the local time, in milliseconds; negative when the service's clock is slow.
   * @throws {@link AuthError} `HEADGATE_INVALID_CLOCK_OFFSET` when the offset isn't a finite number.
   */
  adjustClock?(offsetMs: number): void;
  /**
   * Tells the signer that the service has refused its secret, so that the secret's function can return another one. Absent if the signer
   * can't use this information.
   */
  refused?(): void;
}

/** A signer that never waits, and sends an `Authorization` header. */
export interface AuthorizationSigner extends Signer {
  /** Like `Signer.sign`, without a promise. It takes no signal, because it never waits. */
  sign(request: SignableRequest): Authorization;
}

/** The signer of one secret: an {@link AuthorizationSigner} for a {@link Secret}, and otherwise a {@link Signer}. */
export type SignerOf<Given extends Secret | SecretProvider> = Given extends Secret ? AuthorizationSigner : Signer;
