/**
 * Signers add the headers or parameters that authenticate a request: bearer tokens, API keys and OAuth 1.0. A signer hides its secrets from
 * errors, log lines and JSON.
 *
 * @packageDocumentation
 */
export { apiKey, type ApiKeyPlace } from './api-key.ts';
export { AuthError, type AuthErrorCode, isAwaitedSecret } from './auth-error.ts';
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
