import * as z from 'zod';
import { checkDefinition } from './definition-check.ts';
import { duration } from '../settings/duration.ts';
import { parseOptions } from '../settings/parse-options.ts';
import type { CommonOptions, DefinedPipeline, DefinitionInfo, ListedJob, Pipeline } from './pipeline.ts';
import type { NamedCredential, PipelineDefinition } from './pipeline-definition.ts';
import { InvalidOptionsError, PipelineError } from '../settings/pipeline-error.ts';
import { jsonOf, pipelineJobs } from './pipeline-jobs.ts';
import { jobIdentity } from '../topics/job-identity.ts';
import { secretIssues } from '../settings/secret.ts';
import { type Rule, guarded, json, list, misuse, mustReturn, synchronous } from '../topics/user-function.ts';
import { TOPIC_FORMATS, type TopicFormat, type TopicMap } from '../topics/topic.ts';
import type { Processor } from './processor.ts';

/**
 * Defines a pipeline from an HTTP service to topics: `start` takes the result of `definePipeline(definition)(options)`. Throws a
 * `PipelineError` (HEADGATE_DEFINITION) for an invalid definition. The returned function throws `HEADGATE_INVALID_OPTION` for invalid
 * options.
 */
export function definePipeline<
  Options extends z.ZodObject,
  JobSchema extends z.ZodType,
  Topics extends TopicMap,
  Credential extends NamedCredential = NamedCredential,
>(given: PipelineDefinition<Options, JobSchema, Topics, Credential>): DefinedPipeline<Options, z.input<JobSchema>> {
  type Request = z.output<JobSchema>;
  checkDefinition(given);
  const definition = guarded(given, { pipeline: given.name }, RULES);
  const { name, request, topics, unit = 'records' } = definition;
  const options = definition.options.safeExtend(commonOptions(definition.maxOutstanding ?? 20_000));
  const requests = pipelineJobs(given);
  const info: DefinitionInfo = { name, options, request, requests, topics, splitsCredentials: definition.credentials !== undefined };

  const configured = (settings: z.input<Options> & CommonOptions): Pipeline<z.input<JobSchema>> => {
    const parsed = parseOptions(options, settings);
    if (parsed.issues !== undefined) throw new InvalidOptionsError(name, parsed.issues, options);
    const value = parsed.value as z.output<Options> & {
      every?: number;
      maxOutstanding: number;
      unwrittenPages: number;
      stopAfterFailures: number;
      format: TopicFormat;
    };
    const everyOf = (job: unknown): number | undefined => definition.every?.(job as Request) ?? value.every;
    const credentials = definition.credentials?.(value);
    const agreed = definition.agreed?.(value);
    const listedJob = (job: unknown, index: number): ListedJob => {
      try {
        const text = jsonOf(job);
        const read = requests.read(text);
        return {
          key: requests.keyOf(read),
          value: text ?? 'null',
          identity: jobIdentity(read, text ?? 'null'),
          everyMs: everyOf(read),
        };
      } catch (cause) {
        const words = cause instanceof Error ? cause.message : String(cause);
        const message = `${name}: job ${index} of its list is invalid: ${words}`;
        throw new PipelineError({ code: 'HEADGATE_MALFORMED_REQUEST', message, pipeline: name, cause });
      }
    };
    return {
      name,
      definition: info,
      options: value,
      warnings: [...(definition.warnings?.(value) ?? [])],
      secretIssues: () => secretIssues(value),
      unit,
      topics: inFormat(topics, value.format),
      makesRequests: definition.makesRequests === true,
      groups: definition.groups,
      everyMs: value.every,
      everyOf,
      maxOutstanding: value.maxOutstanding,
      unwrittenPages: value.unwrittenPages,
      pageItems: definition.pageItems?.(value),
      usualBytes: definition.usualBytes?.(value) ?? {},
      credentials: credentials?.map((credential) => credential.name),
      sharesLimit: definition.sharesLimit?.(value) ?? false,
      agreed: {
        credentials: credentials?.map((credential) => credential.name),
        ...(agreed !== undefined && { agreed }),
      },
      requests,
      *listed() {
        for (const [index, job] of [...(definition.listed?.(value) ?? [])].entries()) yield listedJob(job, index);
      },
      open(io, { lane, lanes }) {
        const share = (credentials ?? []).filter((_, index) => index % lanes === lane);
        const { stopAfterFailures } = value;
        const processor = definition.open(value, { ...io, waitOutOutages: true, stopAfterFailures, credentials: share });
        if (lanes > 1 && processor.sources.some((source) => source.credentialsOf !== undefined)) throw notDivided(name, lanes);
        // The lane calls the processor only with record makers for this definition's topics, so the cast is safe.
        return processor as unknown as Processor<unknown, TopicMap>;
      },
      canProbe: definition.probe !== undefined,
      probe(io, credential, job) {
        const read = job === undefined ? undefined : (requests.read(job) as Request);
        const probed = credentials?.slice(credential, credential + 1) ?? [];
        return definition.probe?.(value, { ...io, retryForMs: 0, waitOutOutages: false, credentials: probed }, read);
      },
      expect: (job, last) => (definition.expect === undefined ? last?.pages : definition.expect(job as Request, last)),
    };
  };
  return Object.assign(configured, { definition: info, named: (other: string) => definePipeline({ ...given, name: other }) });
}

function inFormat(topics: TopicMap, format: TopicFormat): TopicMap {
  return Object.fromEntries(Object.entries(topics).map(([name, definition]) => [name, { format, ...definition }]));
}

function commonOptions(maxOutstanding: number) {
  return {
    every: duration()
      .optional()
      .describe('Interval after which the list is requested again. Default: the list is requested once.')
      .meta({ examples: ['24h'] }),
    maxOutstanding: z
      .int()
      .positive()
      .default(maxOutstanding)
      .describe('Maximum items that are requested or in flight and not yet written.'),
    unwrittenPages: z
      .int()
      .min(1)
      .max(8)
      .default(5)
      .describe(
        'Maximum pages of one job that are requested or in flight and not yet written, if each limit allows 500 requests or more per window. Otherwise 1. After a crash, they are requested again.',
      ),
    stopAfterFailures: z
      .int()
      .positive()
      .default(10)
      .describe('Stop after this many jobs in a row fail with the same error. The other jobs wait for the next run.'),
    format: z
      .enum(TOPIC_FORMATS)
      .default('json')
      .describe('Format of the records. All but `json` need `topics.registry`. Jobs and dead letters are always JSON.'),
  };
}

/**
 * The error for a source with `credentialsOf` in several lanes: a job's key selects its lane, which might not have the job's credential.
 */
function notDivided(pipeline: string, lanes: number): PipelineError {
  const message = `${pipeline}: its source has credentialsOf, so ${lanes} lanes can't divide its credentials. Set lanes to 1, or remove credentials from its definition.`;
  return new PipelineError({ code: 'HEADGATE_INVALID_OPTION', message, pipeline });
}

const named: Rule = (result, of) => {
  const credentials = list(result, of) as readonly unknown[];
  if (credentials.every((credential) => typeof Object(credential).name === 'string')) return credentials;
  throw misuse(of, 'returns a credential without a name', 'It must return a list of { name, … }');
};

/** The rules for the functions of a definition. `pipelineJobs` has those for requests. */
const RULES = {
  credentials: named,
  every: mustReturn(
    'a number of milliseconds above 0, or undefined',
    (everyMs) => everyMs === undefined || (typeof everyMs === 'number' && everyMs > 0),
  ),
  warnings: list,
  pageItems: synchronous,
  usualBytes: synchronous,
  sharesLimit: synchronous,
  agreed: json,
  listed: list,
  open: mustReturn('the result of walk, lookup or route', (processor) => typeof Object(processor).open === 'function'),
  probe: synchronous,
  expect: synchronous,
};
