// Imports from the packages' entries, to check the types as a user's compiler does.
import { type Signer, bearer, oauth1 } from '@headgate/auth';
import { idsOf, splitValid } from '@headgate/operators';
import { definePipeline, start, topic, walk } from '@headgate/pipeline';
import { pipelineContract } from '@headgate/pipeline/testing';
import { startBooks, startFollowers } from '@headgate/sandbox';
import { startKafkaBroker } from '@headgate/sandbox/kafka-broker';
import { SourceError, defineSource } from '@headgate/sources';
import { books } from '@headgate/sources/books';
import { followers } from '@headgate/sources/followers';
import { sourceContract } from '@headgate/sources/testing';
import { rateBudget } from '@headgate/throttle';
import { fileJournal } from '@headgate/throttle/file-journal';
import { virtualClock } from '@headgate/throttle/testing';
import { type TopicLog, textOf } from '@headgate/topics';
import { kafkaTopicLog } from '@headgate/topics/kafka';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { contractChecks } from '@headgate/topics/testing';
import { defineConfig } from 'headgate';
import * as records from 'headgate/records';
import { lastValueFrom, map } from 'rxjs';

export const signer: Signer = bearer(() => 'token');
export const api = followers({
  baseUrl: 'http://127.0.0.1',
  credentials: [{ name: 'app', signer }],
  limit: { requests: 15, windowMs: 900_000 },
});
export const ids: Promise<string[]> = lastValueFrom(
  api.pages({ screenName: 'alpha' }).pipe(map((page) => idsOf(page).map(({ id }) => id))),
);

export async function count(log: TopicLog): Promise<number> {
  let sum = 0;
  for await (const { value } of log.read({ topic: 'ids' })) if (value !== null) sum += value.length;
  return sum;
}

export function codeOf(error: unknown): string {
  return error instanceof SourceError ? error.code : 'none';
}

// @ts-expect-error -- `baseUrl` is missing, which types that are `any` would accept
followers({ credentials: [] });

export const all: readonly unknown[] = [
  oauth1,
  splitValid,
  definePipeline,
  start,
  topic,
  walk,
  pipelineContract,
  startBooks,
  startFollowers,
  startKafkaBroker,
  defineSource,
  books,
  sourceContract,
  rateBudget,
  fileJournal,
  virtualClock,
  textOf,
  kafkaTopicLog,
  sqliteTopicLog,
  contractChecks,
  defineConfig,
  records,
];
