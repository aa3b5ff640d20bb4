import { type RequestRecord, requestRecord } from '../definition/request.ts';
import { requestIdentity } from '../definition/request-identity.ts';
import type { RequestsInOrderOptions } from './requests-in-order.ts';

/** Finds requests that a family makes once, and has already made. */
export interface RepeatedRequests {
  /** Call it for each request, in the order of their offsets. It may read the topic from the root of the request's family. */
  has(record: RequestRecord): Promise<boolean>;
  /** Frees memory. Later calls read what they need again. */
  forget(before: number): void;
}

/**
 * A request is repeated if there is an equal, unrepeated one between its root and itself. This depends only on the topic, so every holder
 * of the lane gets the same result, and its state needs nothing.
 */
export function repeatedRequests({ log, topic, partition, from: next, signal }: Omit<RequestsInOrderOptions, 'resumed'>): RepeatedRequests {
  /** The newest offset of each request that isn't repeated, by its identity. */
  const made = new Map<string, number>();
  /** `made` covers the requests from this offset on. */
  let from = next;

  const note = ({ offset, value }: RequestRecord, root: number): boolean => {
    const identity = identityOf(value);
    if (identity === undefined) return false;
    const before = made.get(identity);
    if (before !== undefined && before >= root) return true;
    made.set(identity, offset);
    return false;
  };

  /** Reads up to an offset. Older families that overlap decide which requests of these are repeated, so it may begin at their roots. */
  const readFrom = async (root: number, end: number): Promise<void> => {
    let oldest = root;
    do {
      from = oldest;
      made.clear();
      for await (const record of log.readBytes({ topic, partitions: [partition], from, signal })) {
        if (record.offset >= end) break;
        const request = requestRecord(record);
        if (request.root === undefined) continue;
        oldest = Math.min(oldest, request.root);
        note(request, request.root);
      }
    } while (oldest < from);
  };

  return {
    async has(record) {
      const { root, offset } = record;
      if (root === undefined) return false;
      if (root < from) await readFrom(root, offset);
      return note(record, root);
    },
    forget(before) {
      made.clear();
      from = before;
    },
  };
}

/** Undefined for what isn't JSON: it becomes a dead letter. */
function identityOf(value: string | null): string | undefined {
  try {
    return value === null ? undefined : requestIdentity(JSON.parse(value), value);
  } catch {
    return undefined;
  }
}
