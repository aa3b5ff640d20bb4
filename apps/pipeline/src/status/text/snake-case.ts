/** Properties that map names of users' own, codes or topics to values: their keys stay as they are. */
const MAPS = new Set([
  'pipelines',
  'attempts',
  'credentials',
  'faults',
  'records',
  'byTopic',
  'items',
  'keys',
  'counts',
  'kinds',
  'openDeadLetters',
]);
const CAMEL_CASE = /^[a-z\d]+(?:[A-Z][a-z\d]*)+$/;

/** A value as its JSON is written, with keys in snake case: `retry_in_ms`. */
export function snakeCased(value: object, isMap?: boolean): object;
export function snakeCased(value: unknown, isMap?: boolean): unknown;
export function snakeCased(value: unknown, isMap = false): unknown {
  if (Array.isArray(value)) return value.map((one) => snakeCased(one));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      !isMap && CAMEL_CASE.test(key) ? key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : key,
      snakeCased(one, MAPS.has(key) && !isMap),
    ]),
  );
}
