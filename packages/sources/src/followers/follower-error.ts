import { SourceError } from '../source-error.ts';

export type FollowerErrorCode = keyof typeof WORDS;

/** The meaning and remedy of each error. The message begins with the name of the credential or of the user, as `of` says. */
const WORDS = {
  HEADGATE_USER_NOT_FOUND: {
    of: 'user',
    what: 'there is no such user',
    todo: 'Check the spelling. If every user is missing, check baseUrl.',
  },
  HEADGATE_USER_SUSPENDED: { of: 'user', what: 'the account is suspended', todo: 'Remove it from the list.' },
  HEADGATE_USER_PROTECTED: {
    of: 'user',
    what: 'the account is protected',
    todo: 'Only credentials of its followers can read this list. Use one of them, or remove the user.',
  },
  HEADGATE_AUTHENTICATION_FAILED: { of: 'credential', what: "the service doesn't accept it", todo: 'Check its keys and tokens.' },
  HEADGATE_TOKEN_INVALID: { of: 'credential', what: 'its token is invalid or expired', todo: 'Get a new one.' },
  HEADGATE_AUTHENTICATION_BAD: {
    of: 'credential',
    what: 'its authentication data is invalid',
    todo: 'Check that it is configured as the right kind.',
  },
  HEADGATE_CREDENTIAL_SUSPENDED: { of: 'credential', what: 'its own account or app is suspended', todo: 'Use another.' },
  HEADGATE_CREDENTIAL_LOCKED: { of: 'credential', what: 'its own account is locked', todo: 'Unlock it at the service, or use another.' },
  HEADGATE_CREDENTIAL_FORBIDDEN: {
    of: 'credential',
    what: "its app or plan doesn't include this request",
    todo: 'Check its access level at the service, or use another.',
  },
  HEADGATE_UNAUTHORIZED: { of: 'credential', what: 'the service refused it', todo: 'Check its keys and tokens.' },
  HEADGATE_CLOCK_WRONG: { of: 'credential', what: "its timestamp is too far from the service's clock", todo: "Set this machine's clock." },
  HEADGATE_FORBIDDEN: { of: 'user', what: 'the service forbids it', todo: "Check the credential's permissions at the service." },
  HEADGATE_BAD_REQUEST: { of: 'user', what: "the service doesn't understand the request", todo: 'Check userId, cursor and baseUrl.' },
  HEADGATE_UNEXPECTED_STATUS: { of: 'user', what: 'the service sent an undocumented response', todo: 'Check baseUrl.' },
} as const;

/** `said`: the service's message. The error quotes at most 200 characters of it. */
export function followerError(
  code: FollowerErrorCode,
  user: string,
  credential: string,
  status: number,
  said: string | undefined,
): SourceError {
  const { of, what, todo } = WORDS[code];
  const quoted = said === undefined ? '' : ` ${JSON.stringify(shortened(said))}`;
  const message = `${of === 'user' ? user : credential}: ${what} (${status}${quoted}). ${todo}`;
  return new SourceError({ code, retryable: false, service: 'followers', credential, subject: user, status, message });
}

const LONGEST_QUOTE = 200;

function shortened(text: string): string {
  // oxlint-disable-next-line no-control-regex -- the text goes to terminals and logs, so control characters must be removed.
  const plain = text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').toWellFormed();
  return plain.length > LONGEST_QUOTE ? `${plain.slice(0, LONGEST_QUOTE)}…` : plain;
}
