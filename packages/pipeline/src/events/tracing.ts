import type { Attributes, Context, Link, Span, TraceAPI } from '@opentelemetry/api';
import type { Clock } from '@headgate/throttle';
import type { Reason, RunEvent } from './events.ts';

/**
 * Records spans of work, of HTTP attempts, and of transactions. `work` identifies a walk, or a batch of keys that are looked up together.
 */
export interface Tracing {
  /** Starts the span of a walk or batch. */
  begin(work: object, about: WorkAbout): void;
  /** Returns headers that link the records of a walk or batch to its span. Undefined if the span isn't recorded. */
  headers(work: object): Readonly<Record<string, string>> | undefined;
  /** Returns headers that link a job to the caller's active span. Undefined if there is none, or it isn't recorded. */
  callerHeaders(): Readonly<Record<string, string>> | undefined;
  /** Ends the span of a walk or batch. `error`: why it failed. Default: it is done, or continues in another run or process. */
  end(work: object, error?: Reason): void;
  /** Records the span of an attempt that has ended. `work`: the walk or batch that the attempt belongs to, if known. */
  attempt(event: Omit<Extract<RunEvent, { type: 'attempt' }>, 'type'>, work: object | undefined): void;
  /** Records the span of a durable transaction. `works`: the walks and batches whose records the transaction contains. */
  committed(about: { readonly pipeline: string; readonly lane: number; readonly ms: number }, works: readonly object[]): void;
}

export interface WorkAbout {
  readonly pipeline: string;
  readonly lane: number;
  /** Key of the walked request. Absent for a batch of keys. */
  readonly key?: string;
  /** ID of the walked request. Absent for a batch of keys. */
  readonly request?: string;
  /** The page at which the walk begins or continues, 1-based. */
  readonly page?: number;
  /** Number of keys in the batch. Absent for a walk. */
  readonly keys?: number;
}

/** Key of the global variable in which version 1 of the OpenTelemetry API keeps the providers that an SDK registered. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1');

/** Returns undefined if no SDK has registered a tracer provider. In that case, the OpenTelemetry API isn't even loaded. */
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
      // Transactions without a traced walk or batch get no span, such as those that only store a permit.
      if (first === undefined) return;
      const endedAt = clock.epochMs();
      const links = own.map((span): Link => ({ context: span.spanContext() }));
      tracer
        .startSpan(
          `${pipeline} transaction`,
          // A span has at most one parent. If the transaction has records of several walks or batches, the span links to them instead.
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
