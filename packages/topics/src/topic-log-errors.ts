import { basename } from 'node:path';

/** The log can't be opened: not there, not one of ours, or not permitted. */
export class TopicLogOpenError extends Error {
  override readonly name = 'TopicLogOpenError';
  readonly code = 'HEADGATE_TOPIC_LOG_OPEN';
  readonly retryable = false;
  readonly file: string;

  constructor(details: { readonly file: string; readonly reason: string }, options?: ErrorOptions) {
    super(`The topic log ${details.file} can't be opened: ${details.reason}`, options);
    this.file = details.file;
  }
}

/** The log was written by a newer release than this one. */
export class TopicLogVersionError extends Error {
  override readonly name = 'TopicLogVersionError';
  readonly code = 'HEADGATE_TOPIC_LOG_VERSION';
  readonly retryable = false;
  readonly file: string;
  /** The file's schema version. */
  readonly version: number;
  /** The newest schema version this release knows. */
  readonly known: number;

  constructor(details: { readonly file: string; readonly version: number; readonly known: number }, options?: ErrorOptions) {
    super(
      `The topic log ${details.file} has schema version ${details.version}; this release knows versions up to ${details.known}. ` +
        'Update Headgate, or use another file. The file was not touched.',
      options,
    );
    this.file = details.file;
    this.version = details.version;
    this.known = details.known;
  }
}

/** There is no room to write. Nothing of the transaction was written; what was committed before is safe, and writing works again when there is room. */
export class TopicLogFullError extends Error {
  override readonly name = 'TopicLogFullError';
  readonly code = 'HEADGATE_TOPIC_LOG_FULL';
  readonly retryable = true;
  readonly file: string;

  constructor(details: { readonly file: string }, options?: ErrorOptions) {
    super(
      `There is no room to write the topic log ${details.file} (disk full, or a quota or size limit reached). Nothing was written and nothing ` +
        'committed is lost: make room on that disk or raise the limit, then try again.',
      options,
    );
    this.file = details.file;
  }
}

/** What was read is not what was written: the log is damaged. */
export class TopicLogCorruptError extends Error {
  override readonly name = 'TopicLogCorruptError';
  readonly code = 'HEADGATE_TOPIC_LOG_CORRUPT';
  readonly retryable = false;
  readonly file: string;

  constructor(details: { readonly file: string; readonly detail: string }, options?: ErrorOptions) {
    super(
      `The topic log ${details.file} is damaged (${details.detail}). Stop everything that uses it and keep a copy; then restore a backup, or ` +
        'save what can be read with `sqlite3 FILE .recover`.',
      options,
    );
    this.file = details.file;
  }
}

/** The log's file was deleted, moved or replaced while the log was open. Nothing is confirmed since then; what was confirmed before went with the file. */
export class TopicLogGoneError extends Error {
  override readonly name = 'TopicLogGoneError';
  readonly code = 'HEADGATE_TOPIC_LOG_GONE';
  readonly retryable = false;
  readonly file: string;
  /** The one of the log's files that is missing, or is another one. */
  readonly path: string;

  constructor(details: { readonly file: string; readonly path: string; readonly replaced: boolean }, options?: ErrorOptions) {
    const { file, path, replaced } = details;
    const name = basename(file);
    super(
      `Somebody ${replaced ? 'replaced' : 'deleted or moved'} ${path} while the topic log was in use; nothing is confirmed since then. Stop all that ` +
        `uses the log. Then put ${name} back, together with ${name}-wal where there is one, or restore a backup; or start over with a new file.`,
      options,
    );
    this.file = file;
    this.path = path;
  }
}

/** Another process kept the log locked for longer than this one waits. Nothing was written. */
export class TopicLogBusyError extends Error {
  override readonly name = 'TopicLogBusyError';
  readonly code = 'HEADGATE_TOPIC_LOG_BUSY';
  readonly retryable = true;
  readonly file: string;

  constructor(details: { readonly file: string; readonly busyTimeoutMs: number }, options?: ErrorOptions) {
    super(
      `The topic log ${details.file} was locked by another process for more than ${details.busyTimeoutMs} ms; nothing was written. ` +
        'Try again, or find the process that holds it.',
      options,
    );
    this.file = details.file;
  }
}

/** The log, or the lane of it, was closed before or during the call. */
export class TopicLogClosedError extends Error {
  override readonly name = 'TopicLogClosedError';
  readonly code = 'HEADGATE_TOPIC_LOG_CLOSED';
  readonly retryable = false;

  /** `what` begins the sentence, e.g. `The topic log /data/headgate.db`. */
  constructor(details: { readonly what: string }, options?: ErrorOptions) {
    super(`${details.what} is closed. Open it again to go on.`, options);
  }
}

/** The log stopped working for a reason outside of it; `cause` says which. Whether a write that was under way is there shows when it is opened again. */
export class TopicLogFailedError extends Error {
  override readonly name = 'TopicLogFailedError';
  readonly code = 'HEADGATE_TOPIC_LOG_FAILED';
  readonly retryable = true;
  readonly file: string;

  constructor(details: { readonly file: string; readonly detail: string }, options?: ErrorOptions) {
    super(
      `The topic log ${details.file} failed: ${details.detail}. Close it, open it again, and read what is there before writing on.`,
      options,
    );
    this.file = details.file;
  }
}
