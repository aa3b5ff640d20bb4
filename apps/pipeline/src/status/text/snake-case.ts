/** Properties that contain maps. The keys of the maps are users' names, codes or topics, which keep their spelling. */
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
  'groups',
]);
const CAMEL_CASE = /^[a-z\d]+(?:[A-Z][a-z\d]*)+$/;

/** A value with its keys in snake case, as JSON output has them: `retry_in_ms`. The keys of maps stay as they are. */
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
