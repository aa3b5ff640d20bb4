/** A secret, or a function that gives the current one each time a request is signed, so that it can rotate. */
export type Secret = string | (() => string);

/** What a signer needs to know of a request: exactly what will be sent. */
export interface SignableRequest {
  /** The HTTP method; its case doesn't matter. */
  readonly method: string;
  /** The absolute http(s) URL, with its query. It is read as `new URL(url)` writes it, which is what clients put on the wire. */
  readonly url: string;
  /** The body as it will be sent. Only a form body takes part in a signature. Default: no body. */
  readonly body?: string | Uint8Array;
  /** The `Content-Type` header as it will be sent, parameters and all. Default: none. */
  readonly contentType?: string;
}

/** The header a signed request carries. */
export interface Authorization {
  /** The value of the `Authorization` header. It IS a secret: send it, don't log it. */
  readonly authorization: string;
}

/** Gives a request its `Authorization` header. */
export interface Signer {
  /**
   * Signs one request, synchronously.
   *
   * @throws {@link InvalidSecretError} when a secret can't be sent, {@link SecretUnavailableError} when the function that gives it fails,
   * {@link UnsignableRequestError} when the request can't be signed as it is.
   */
  sign(request: SignableRequest): Authorization;
  /**
   * Tells a signer that stamps its requests how far the service's clock is ahead of ours.
   *
   * Absent where time takes no part in the signature. The offset belongs to this signer alone and replaces an earlier one.
   *
   * @param offsetMs the service's time minus ours, in milliseconds; negative when the service is behind.
   * @throws {@link InvalidClockOffsetError} when the offset is not a finite number.
   */
  adjustClock?(offsetMs: number): void;
}
