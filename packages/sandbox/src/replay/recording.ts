import { readFile } from 'node:fs/promises';

/** One recorded exchange; a recording is an array of them. */
export interface RecordedEntry {
  /** Origin of the entry, in any form; not read. */
  readonly source?: unknown;
  /** The recorded request. It decides which requests get the response. */
  readonly request: {
    readonly method: string;
    /** An absolute URL, a path, a path with `{names}`, or null if unknown. */
    readonly url: string | null;
    readonly body?: string;
  };
  /** The response to requests that match, instead of the emulator's own. */
  readonly response: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    /** The decoded text as received, which is sent unchanged. */
    readonly body: string;
  };
  /** A remark of the person who recorded the exchange, in any form; not read. */
  readonly note?: unknown;
}

/** The error for a recording that can't be read or has the wrong form. The message names the file and, for a wrong form, the place. */
export class RecordingError extends Error {
  /** Identifies the error even if `instanceof` can't: in a program with two copies of this package. */
  readonly code = 'HEADGATE_SANDBOX_RECORDING';
  /** False: the file or its path must be corrected. */
  readonly retryable: boolean = false;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'RecordingError';
  }
}

/** Reads a recording from a JSON file. Throws `RecordingError` if the file can't be read or has the wrong form. */
export async function loadRecording(file: string): Promise<readonly RecordedEntry[]> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    throw new RecordingError(`${file}: the recording can't be read (${reasonOf(cause)}). Check the path.`, { cause });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new RecordingError(`${file}: the recording isn't JSON (${reasonOf(cause)}).`, { cause });
  }
  return checkRecording(value, file);
}

/** Checks the form of a recording. Throws `RecordingError` for the wrong form. `name`: the recording's name in errors. */
export function checkRecording(value: unknown, name: string): readonly RecordedEntry[] {
  if (!Array.isArray(value)) throw new RecordingError(`${name}: a recording is an array of {request, response}; this is ${kindOf(value)}.`);
  return value.map((entry: unknown, index): RecordedEntry => {
    const { request, response, source, note } = objectAt(entry, `${name}: entry ${index}`);
    const asked = objectAt(request, `${name}: entry ${index}: request`);
    const answered = objectAt(response, `${name}: entry ${index}: response`);
    const { method, url, body: askedBody } = asked;
    const { status, headers, body } = answered;
    const fail = (field: string, wanted: string, got: unknown): never => {
      throw new RecordingError(`${name}: entry ${index}: ${field} must be ${wanted}; it is ${kindOf(got)}.`);
    };
    if (typeof method !== 'string') return fail('request.method', 'a string such as "GET"', method);
    if (typeof url !== 'string' && url !== null) return fail('request.url', 'a string or null', url);
    if (askedBody !== undefined && typeof askedBody !== 'string') return fail('request.body', 'a string or absent', askedBody);
    if (typeof status !== 'number' || !Number.isInteger(status) || status < 200 || status > 599) {
      return fail('response.status', 'a whole number from 200 to 599', status);
    }
    if (typeof body !== 'string') return fail('response.body', 'the text of the body as a string', body);
    const texts: Record<string, string> = {};
    for (const [header, text] of Object.entries(objectAt(headers, `${name}: entry ${index}: response.headers`))) {
      if (typeof text !== 'string') return fail(`response.headers.${header}`, 'a string', text);
      texts[header.toLowerCase()] = text;
    }
    return {
      source,
      note,
      request: { method, url, ...(askedBody === undefined ? {} : { body: askedBody }) },
      response: { status, headers: texts, body },
    };
  });
}

function objectAt(value: unknown, where: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new RecordingError(`${where} must be an object; it is ${kindOf(value)}.`);
  }
  return { ...value };
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'absent';
  if (typeof value === 'number') return `the number ${value}`;
  return Array.isArray(value) ? 'an array' : `a${typeof value === 'object' ? 'n' : ''} ${typeof value}`;
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
