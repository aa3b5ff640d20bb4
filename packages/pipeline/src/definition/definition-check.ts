import * as z from 'zod';
import { DEAD_LETTERS } from '../topics/dead-letter.ts';
import type { NamedCredential, PipelineDefinition } from './pipeline-definition.ts';
import { PipelineError } from '../settings/pipeline-error.ts';
import { REQUESTS, type TopicMap } from '../topics/topic.ts';

type Issue = Pick<z.core.$ZodRawIssue, 'path' | 'input'>;

const must =
  (words: string) =>
  ({ path = [], input }: Issue): string =>
    `${path.join('.')} ${input === undefined ? 'is missing' : `must be ${words}`}.`;
const part = (test: (value: unknown) => boolean, words: string) => z.custom(test, { error: must(words), abort: true });
const text = z.string({ error: must('text') });
const userFunction = part((value) => typeof value === 'function', 'a function');
/** Recognizes a zod schema by one of its methods and not by its class, because a user's folder can have its own copy of zod. */
const schema = (method: 'safeParse' | 'safeExtend') =>
  part((value) => typeof Object(value)[method] === 'function', 'a zod schema, such as z.strictObject({ … })');

const PARTS = z.strictObject({
  name: text
    .refine((name) => !['headgate', 'topics', 'status'].includes(name), {
      error: ({ input }) => `the name ${String(input)} is reserved. Choose another.`,
    })
    .regex(/^[a-z][a-z0-9-]{0,49}$/, {
      error: ({ input }) =>
        `"${String(input)}" isn't a valid pipeline name. Write up to 50 lowercase letters, digits and hyphens, starting with a letter.`,
    }),
  options: schema('safeExtend').superRefine((options, context) => {
    const taken = ['use', 'every', 'maxOutstanding', 'unwrittenPages', 'stopAfterFailures', 'format'].find((key) =>
      Object.hasOwn((options as z.ZodObject).shape, key),
    );
    if (taken !== undefined) context.addIssue(`${taken} is an option of every pipeline. Rename the option ${taken} of this one.`);
  }),
  request: schema('safeParse'),
  topics: part((value) => typeof value === 'object' && value !== null, 'an object').superRefine((topics, context) => {
    for (const topic of Object.keys(topics as TopicMap)) {
      if ([REQUESTS, DEAD_LETTERS, 'state'].includes(topic))
        context.addIssue(`every pipeline has its own topic ${topic}. Rename topics.${topic}.`);
      if (!/^[a-zA-Z0-9][a-zA-Z0-9-]{0,49}$/.test(topic))
        context.addIssue(`topics.${topic}: a topic name has up to 50 letters, digits and hyphens.`);
    }
  }),
  makesRequests: part((value) => typeof value === 'boolean', 'true or false').optional(),
  groups: part(
    (value) => typeof Object(value).of === 'function' && typeof Object(value).makes === 'object',
    'an object { of, makes }',
  ).optional(),
  unit: text.optional(),
  pageItems: userFunction.optional(),
  usualBytes: userFunction.optional(),
  keyOf: userFunction,
  parse: userFunction.optional(),
  check: userFunction.optional(),
  listed: userFunction.optional(),
  every: userFunction.optional(),
  credentials: userFunction.optional(),
  sharesLimit: userFunction.optional(),
  maxOutstanding: part((value) => Number.isSafeInteger(value) && Number(value) > 0, 'a whole number above 0').optional(),
  warnings: userFunction.optional(),
  probe: userFunction.optional(),
  agreed: userFunction.optional(),
  open: userFunction,
  expect: userFunction.optional(),
} satisfies Record<keyof PipelineDefinition<z.ZodObject, z.ZodType, TopicMap, NamedCredential>, z.ZodType>);

/**
 * Throws a `PipelineError` (HEADGATE_DEFINITION) for an invalid definition. Node.js strips the types of a user's module without checking
 * them.
 */
export function checkDefinition(definition: { readonly name: unknown }): void {
  const { error } = PARTS.safeParse(definition);
  if (error === undefined) return;
  const unknown = error.issues.find((issue) => issue.code === 'unrecognized_keys');
  const parts = Object.keys(PARTS.shape);
  const message =
    unknown === undefined
      ? error.issues[0]?.message
      : `${unknown.keys[0]} isn't part of a definition. Its parts are ${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}.`;
  const { name } = definition;
  throw new PipelineError({
    code: 'HEADGATE_DEFINITION',
    message: `definePipeline: ${message}`,
    ...(typeof name === 'string' && { pipeline: name }),
  });
}
