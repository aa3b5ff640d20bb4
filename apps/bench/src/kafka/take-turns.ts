import type { Client } from './clients.ts';
import type { GatedPages } from './gated-pages.ts';
import type { MeasuredProcess } from './measured-process.ts';

/** A client at work, and the pages that are its own. */
export interface Runner {
  readonly client: Client;
  readonly pages: GatedPages;
  readonly process: MeasuredProcess;
}

/** The cost of a page, one figure a round. */
export interface Turns {
  /** CPU of the client's process, ms a page. */
  readonly cpuMs: readonly number[];
  /** Elapsed, ms a page. */
  readonly wallMs: readonly number[];
}

export interface TakeTurnsOptions {
  readonly warmUpPages: number;
  readonly rounds: number;
  /** Pages of a client's turn. */
  readonly pagesPerRound: number;
}

/** Warms all up, then gives each its turn in every round: from the answer to one page to the question for the last one's successor. */
export async function takeTurns(
  runners: readonly Runner[],
  { warmUpPages, rounds, pagesPerRound }: TakeTurnsOptions,
): Promise<ReadonlyMap<Client, Turns>> {
  const turns = new Map<Client, { readonly cpuMs: number[]; readonly wallMs: number[] }>();
  for (const { client, pages, process } of runners) {
    turns.set(client, { cpuMs: [], wallMs: [] });
    await process.during(pages.answerUpTo(warmUpPages));
  }
  for (let round = 1; round <= rounds; round += 1) {
    for (const { client, pages, process } of runners) {
      const before = await process.usage();
      const startedAt = performance.now();
      await process.during(pages.answerUpTo(warmUpPages + round * pagesPerRound));
      const elapsedMs = performance.now() - startedAt;
      const after = await process.usage();
      turns.get(client)?.cpuMs.push((after.cpuMs - before.cpuMs) / pagesPerRound);
      turns.get(client)?.wallMs.push(elapsedMs / pagesPerRound);
    }
  }
  return turns;
}
