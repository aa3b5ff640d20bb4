/**
 * Signers: they give a request the headers or parameters that say who sends it. OAuth 1.0, bearer tokens and API keys; no secret shows in
 * an error, a log line or JSON.
 *
 * @packageDocumentation
 */
export { apiKey, type ApiKeyPlace } from './api-key.ts';
export { AuthError, type AuthErrorCode } from './auth-error.ts';
export { isAwaitedSecret } from './awaited-secret.ts';
export { bearer } from './bearer.ts';
export { oauth1, type OAuth1Options } from './oauth1.ts';
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
