// Uses of the packages' types, to check them as a user's compiler does.
import { type Signer, bearer } from '@headgate/auth';
import { idsOf } from '@headgate/operators';
import { SourceError } from '@headgate/sources';
import { followers } from '@headgate/sources/followers';
import type { TopicLog } from '@headgate/topics';
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
