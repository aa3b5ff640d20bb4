/** A wish as a dead letter keeps it: parsed where it is JSON, the text itself where it isn't. */
export function wishContent(value: string | null): unknown {
  if (value === null) return null;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}
