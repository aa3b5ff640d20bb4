import { duration } from '@headgate/pipeline';
import { timeZone } from '@headgate/pipeline/internal';
import * as z from 'zod';
import { exactNumber } from './json-value.ts';
import { path } from './path.ts';
import type { Stream } from './streams.ts';
import { isTimeOfDay, isTimeOfDayFormat, timeOf } from './time.ts';
import { UTC, zoneOf } from './zone.ts';

/** The setting `since` of a stream. */
export const since = z.strictObject({
  from: path({ singular: true }).describe('Path of the time at which a record changed.'),
  first: z
    .union([exactNumber(), z.string()])
    .refine((first) => timeOf(first, UTC) !== undefined, "isn't a time. Write it like 2024-01-01 or 2024-01-01T12:00:00Z.")
    .exactOptional()
    .describe('Start time of the first listing. Default: none is sent.'),
  overlap: duration()
    .exactOptional()
    .describe('Overlap with the previous listing, before its newest record. Records that are already written are omitted.'),
  zone: timeZone()
    .transform(zoneOf)
    .exactOptional()
    .describe(
      'Time zone of times without one, in records and in formats of `{since}` such as `%H:%M`: an IANA name, such as Europe/Berlin.',
    ),
  window: duration().exactOptional().describe('Maximum time range of one listing, from `{since}` to `{until}`.'),
  order: z
    .enum(['ascending', 'descending', 'fixed'])
    .exactOptional()
    .describe(
      'Order in which the service lists records: `ascending`: by this time, oldest first. `descending`: by this time, newest first. `fixed`: by something that changes don’t touch, such as an ID. With the last two, no record may leave the list while it is read.',
    ),
  children: z
    .enum(['changed', 'all'])
    .exactOptional()
    .describe(
      'Records that create the jobs of child streams. `changed`: those that changed. `all`: each listing reads the whole list for its children, and writes only what changed. Default: `changed`, and `check` says what that means.',
    ),
  ignore: z
    .array(path())
    .default([])
    .describe('Paths of values that don’t make a record a new one, such as addresses that are signed anew in each response.'),
});

export type Since = z.output<typeof since>;

/** The reason why a stream with `since` could lose records of a list that changes while it is read. Undefined if it can't. */
export function orderFlaw(stream: Stream): string | undefined {
  const { pages: { style } = {}, since } = stream;
  if (since === undefined) return undefined;
  if (since.order === 'descending' && since.window !== undefined)
    return "can't combine order: descending with window: a record that changes leaves its window, and another one moves up unseen. Write order: ascending.";
  if (since.children === 'all' && since.window !== undefined)
    return "can't combine children: all with window, because it reads the whole list.";
  if (style?.moves !== 'unseen') return undefined;
  if (since.order === undefined)
    return `needs order, because a record that changes place between two pages (${style.name}) can move another one past them. If the service can sort by this time, oldest first, write order: ascending. Otherwise write descending or fixed.`;
  if (since.order === 'ascending' && !stream.sendsSince)
    return since.children === 'all'
      ? "can't combine order: ascending with children: all, because pages of the whole list can't be requested by their time. Sort the list by something that changes don't touch, and write order: fixed."
      : 'has order: ascending, so each page is requested by its time, but no parameter sends it. Write {since} into a parameter, or list the newest first and write order: descending.';
  return undefined;
}

/** The reason why a stream sends or starts with a time that names no zone. Undefined if there is none. */
export function zoneFlaw(stream: Stream): string | undefined {
  const { since, placeholders } = stream;
  if (since === undefined) return undefined;
  const { first, zone } = since;
  if (isTimeOfDay(first) && zone === undefined)
    return `has first: ${String(first)}, which names no zone. Add it, as in 2024-01-01T12:00:00Z, or write zone: Europe/Berlin.`;
  for (const { name, format, isUtc } of placeholders) {
    if (name !== 'since' && name !== 'until') continue;
    if (format === undefined && isUtc && zone !== undefined && zone.name !== 'UTC')
      return `sends {${name}} as a time in UTC, but its zone is ${zone.name}. Write its format, such as {${name}:%Y-%m-%dT%H:%M:%S}Z.`;
    if (format !== undefined && isTimeOfDayFormat(format) && !isUtc && zone === undefined)
      return `sends {${name}:${format}}, a time of day without a zone. Write the zone in which the service reads it, such as zone: Europe/Berlin, or that of the user whose credential it is.`;
  }
  return undefined;
}
