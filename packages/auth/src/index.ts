/**
 * Signers: they give a request the headers or parameters that say who sends it. OAuth 1.0, bearer tokens and API keys; no secret shows in
 * an error, a log line or JSON.
 *
 * @packageDocumentation
 */
export { apiKey, type ApiKeyPlace } from './api-key.ts';
export { isAwaitedSecret } from './awaited-secret.ts';
export { bearer } from './bearer.ts';
export { InvalidClockOffsetError } from './invalid-clock-offset-error.ts';
export { InvalidSecretError } from './invalid-secret-error.ts';
export { oauth1, type OAuth1Options } from './oauth1.ts';
export { SecretUnavailableError } from './secret-unavailable-error.ts';
export type {
  Authorization,
  AuthorizationSigner,
  Secret,
  SecretContext,
  SecretProvider,
  SignableRequest,
  Signed,
  Signer,
  SignerOf,
  SignOptions,
} from './signer.ts';
export { UnsignableRequestError } from './unsignable-request-error.ts';
