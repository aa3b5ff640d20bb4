import { type Transform, transform } from '@headgate/throttle';
import { invalidOption } from './operator-error.ts';

/** The attributes of a CloudEvent. */
export interface CloudEventAttributes {
  /** Producer of the event: a URI reference, such as `/followers`. */
  readonly source: string;
  /** Kind of event, such as `com.example.page`. */
  readonly type: string;
  /** ID of the event. Unique within its source, and the same if the event is sent again. */
  readonly id: string;
  /** Time of the event: a date, or RFC 3339 text, which isn't changed. Default: none. */
  readonly time?: Date | string | undefined;
  /** Subject of the event within its source. Default: none. */
  readonly subject?: string | undefined;
  /** URI of the schema of the event's data. Default: none. */
  readonly dataSchema?: string | undefined;
  /** Media type of the event's data. Default: `application/json`. */
  readonly dataContentType?: string;
}

/** The headers of a CloudEvent in binary mode. */
export interface CloudEventHeaders {
  /** Version of CloudEvents that the other headers follow. */
  readonly ce_specversion: '1.0';
  /** ID of the event, unique within `ce_source`. An event that is sent again has the same ID. */
  readonly ce_id: string;
  /** Producer of the event: a URI reference. */
  readonly ce_source: string;
  /** Kind of event, such as `com.example.page`. */
  readonly ce_type: string;
  /** Time of the event, RFC 3339. */
  readonly ce_time?: string;
  /** Subject of the event within `ce_source`. */
  readonly ce_subject?: string;
  /** URI of the schema that the value follows. */
  readonly ce_dataschema?: string;
  /** Media type of the record's value. */
  readonly 'content-type': string;
}

/**
 * Returns the headers of an event in binary mode, in which the data of the event is unchanged.
 *
 * For the attributes, see CloudEvents 1.0, section "Context Attributes"; for the names of the headers, see its Kafka binding, section 3.2.
 *
 * @throws {@link OperatorError} when an attribute is empty, or the time is invalid.
 */
export function cloudEventHeaders(attributes: CloudEventAttributes): CloudEventHeaders {
  const { source, type, id, time, subject, dataSchema, dataContentType = 'application/json' } = attributes;
  for (const [name, value] of Object.entries({ source, type, id, subject, dataSchema, dataContentType })) {
    if (value === '') throw invalidOption('cloudEventHeaders', name, 'must not be empty');
  }
  return {
    ce_specversion: '1.0',
    ce_id: id,
    ce_source: source,
    ce_type: type,
    ...(time === undefined ? {} : { ce_time: timestamp(time) }),
    ...(subject === undefined ? {} : { ce_subject: subject }),
    ...(dataSchema === undefined ? {} : { ce_dataschema: dataSchema }),
    'content-type': dataContentType,
  };
}

/** A value with the headers of its event. */
export interface Enveloped<T> {
  /** Headers of the event that has `value` as its data. */
  readonly headers: CloudEventHeaders;
  /** The unchanged value. */
  readonly value: T;
}

/**
 * Puts values into event envelopes: each unchanged value with its headers.
 *
 * *Emits when* a value arrives.
 * *Backpressures when* never.
 * *Completes when* the values complete.
 * *Cancels when* downstream cancels. Fails with {@link OperatorError} if the attributes of a value are invalid.
 *
 * @param attributesOf returns the attributes of a value's event
 */
export function envelope<T>(attributesOf: (value: T) => CloudEventAttributes): Transform<T, Enveloped<T>> {
  const enveloped = (value: T): Enveloped<T> => ({ headers: cloudEventHeaders(attributesOf(value)), value });
  return transform<T, Enveloped<T>>({ name: 'envelope', open: () => ({ next: (value) => [enveloped(value)] }) });
}

const RFC_3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/;

function timestamp(time: Date | string): string {
  if (typeof time === 'string' ? !RFC_3339.test(time) : Number.isNaN(time.getTime())) {
    throw invalidOption('cloudEventHeaders', 'time', 'must be a valid date or RFC 3339 text such as 2026-01-31T12:00:00Z');
  }
  return typeof time === 'string' ? time : time.toISOString();
}
