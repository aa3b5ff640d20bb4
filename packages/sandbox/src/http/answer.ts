/** A service's response to one request, before any fault of the transport. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Creates a response from a body that is already JSON text. */
export function jsonAnswer(status: number, body: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, headers: { 'content-type': 'application/json;charset=utf-8', ...headers }, body };
}
