import { bearer } from '@headgate/auth';
import { creditPool } from '@headgate/throttle';
import { expect, test } from 'vitest';
import { defineSource } from './define-source.ts';
import type { SourceDefinition } from './source-definition.ts';
import { whole } from './testing/responses.ts';
import { scriptedServer } from './testing/scripted-server.ts';

/** Plain JavaScript isn't type-checked: a header's text can pass for a number. */
const text = '5000' as unknown as number;
const functions: [name: string, part: Partial<SourceDefinition<string, string>>][] = [
  ['classify', { classify: () => ({ kind: 'ok', value: 'good', cost: { rate: text } }) }],
  ['items', { items: () => text }],
  ['itemsOf', { itemsOf: () => text }],
  ['weights', { weights: () => ({ rate: text }) }],
];

test.each(functions)('text for a number ends the query with the name of its function: %s, %#', async (name, part) => {
  await using server = await scriptedServer({ otherwise: whole('good') });
  const definition: SourceDefinition<string, string> = {
    service: 'toy',
    limit: { requests: 10_000, windowMs: 1_000 },
    toRequest: (path) => ({ path }),
    classify: ({ body }) => ({ kind: 'ok', value: body.toString() }),
    ...part,
  };
  await using source = defineSource(definition)({ baseUrl: server.url, credentials: [{ name: 'a', signer: bearer('t') }] });
  const error: unknown = await source.query('/', { credits: creditPool({ max: 1 }) }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: expect.stringMatching(/^HEADGATE_(?:CLASSIFY|DEFINITION)$/), retryable: false });
  expect(String(error)).toContain(`${name} of the toy source threw`);
});
