import type { Attributes, Context, Link, Span, TraceAPI } from '@opentelemetry/api';
import type { Clock } from '@headgate/throttle';
import type { Reason, RunEvent } from './events.ts';

/** Spans of active requests, of their attempts and of the transactions that contain them. Each request is identified by its own object. */
export interface Tracing {
  /** A request is being worked, or keys that are looked up together. */
  begin(work: object, about: WorkAbout): void;
  /** The headers that identify its span to readers of its records; none if the span isn't recorded. */
  headers(work: object): Readonly<Record<string, string>> | undefined;
  /** The headers that identify the caller's active span; none if there is none, or it isn't recorded. */
  callerHeaders(): Readonly<Record<string, string>> | undefined;
  /** The work on it has ended, with an error or without, or continues elsewhere. */
  end(work: object, error?: Reason): void;
  /** An attempt has ended. `work`: its request, if known. */
  attempt(event: Omit<Extract<RunEvent, { type: 'attempt' }>, 'type'>, work: object | undefined): void;
  /** A transaction is durable. `works`: the requests whose records it has. */
  committed(about: { readonly pipeline: string; readonly lane: number; readonly ms: number }, works: readonly object[]): void;
}

export interface WorkAbout {
  readonly pipeline: string;
  readonly lane: number;
  /** For a walk. */
  readonly key?: string;
  readonly request?: string;
  /** The page it begins at, 1-based. */
  readonly page?: number;
  /** How many keys are looked up. */
  readonly keys?: number;
}

/** Where version 1 of the API stores what an SDK has registered. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1');

/** Undefined if no SDK has registered a tracer provider: then nothing is loaded or recorded. */
export async function openTracing(clock: Clock): Promise<Tracing | undefined> {
  const registered = (globalThis as { readonly [REGISTERED]?: { readonly trace?: unknown } })[REGISTERED];
  if (registered?.trace === undefined) return undefined;
  const { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, trace } = await import('@opentelemetry/api');
  const tracer = trace.getTracer('headgate');
  const spans = new WeakMap<object, Span>();
  const spanOf = (work: object | undefined): Span | undefined => (work === undefined ? undefined : spans.get(work));
  const headersOf = (span: Span | undefined): Readonly<Record<string, string>> | undefined => {
    if (span?.isRecording() !== true) return undefined;
    const { traceId, spanId, traceFlags, traceState } = span.spanContext();
    const state = traceState?.serialize() ?? '';
    const flags = (traceFlags & TraceFlags.SAMPLED).toString(16).padStart(2, '0');
    return { traceparent: `00-${traceId}-${spanId}-${flags}`, ...(state !== '' && { tracestate: state }) };
  };

  return {
    begin(work, about) {
      const attributes = attributesOf(about);
      spans.set(work, tracer.startSpan(`${about.pipeline} request`, { startTime: clock.epochMs(), attributes }, ROOT_CONTEXT));
    },
    headers: (work) => headersOf(spans.get(work)),
    callerHeaders: () => headersOf(trace.getActiveSpan()),
    end(work, error) {
      const span = spans.get(work);
      if (span === undefined) return;
      spans.delete(work);
      if (error !== undefined)
        span.setStatus({ code: SpanStatusCode.ERROR, message: error.message }).setAttribute('error.type', error.code);
      span.end(clock.epochMs());
    },
    attempt({ pipeline, credential, subject, outcome, status, reason, durationMs }, work) {
      const endedAt = clock.epochMs();
      const attributes: Attributes = {
        'headgate.pipeline': pipeline,
        'headgate.credential': credential,
        'headgate.subject': subject,
        'headgate.outcome': outcome,
        ...(status !== undefined && { 'http.response.status_code': status }),
      };
      const span = tracer.startSpan(
        `${pipeline} attempt`,
        { kind: SpanKind.CLIENT, startTime: endedAt - durationMs, attributes },
        within(trace, ROOT_CONTEXT, spanOf(work)),
      );
      if (outcome !== 'ok') span.setStatus({ code: SpanStatusCode.ERROR, ...(reason !== undefined && { message: reason }) });
      span.end(endedAt);
    },
    committed({ pipeline, lane, ms }, works) {
      const own = works.flatMap((work) => spans.get(work) ?? []);
      const [first] = own;
      // A grant without a page is part of its attempt.
      if (first === undefined) return;
      const endedAt = clock.epochMs();
      const links = own.map((span): Link => ({ context: span.spanContext() }));
      tracer
        .startSpan(
          `${pipeline} transaction`,
          // With several requests, none is the parent.
          {
            startTime: endedAt - ms,
            attributes: { 'headgate.pipeline': pipeline, 'headgate.lane': lane },
            ...(own.length > 1 && { links }),
          },
          within(trace, ROOT_CONTEXT, own.length === 1 ? first : undefined),
        )
        .end(endedAt);
    },
  };
}

function within(trace: TraceAPI, root: Context, parent: Span | undefined): Context {
  return parent === undefined ? root : trace.setSpan(root, parent);
}

function attributesOf({ pipeline, lane, key, request, page, keys }: WorkAbout): Attributes {
  return {
    'headgate.pipeline': pipeline,
    'headgate.lane': lane,
    ...(key !== undefined && { 'headgate.key': key }),
    ...(request !== undefined && { 'headgate.request': request }),
    ...(page !== undefined && { 'headgate.page': page }),
    ...(keys !== undefined && { 'headgate.keys': keys }),
  };
}
