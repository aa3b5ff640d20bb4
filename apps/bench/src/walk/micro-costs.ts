import { admission, credentialPool, creditPool, drain, type PageReader, type PageReadOptions, rateBudget } from '@headgate/throttle';
import { lastValueFrom } from 'rxjs';

export interface MicroCosts {
  /** Time for admission, settlement and drain of one page, µs. */
  readonly pageMicros: number;
  /** Time for an item in a drain, µs. */
  readonly itemMicros: number;
}

const ITEMS = 5_000;

/** The costs of Headgate between a response and its consumer, without a network. */
export async function microCosts(): Promise<MicroCosts> {
  const nothing: readonly string[] = [];
  const full = Array.from({ length: ITEMS }, (_, i) => String(i));
  await microsPerPage({ pages: 20_000, items: nothing });
  const pageMicros = await microsPerPage({ pages: 100_000, items: nothing });
  const fullMicros = await microsPerPage({ pages: 2_000, items: full });
  return { pageMicros, itemMicros: (fullMicros - pageMicros) / ITEMS };
}

async function microsPerPage({ pages, items }: { readonly pages: number; readonly items: readonly string[] }): Promise<number> {
  const budget = rateBudget({ limit: 1_000_000, windowMs: 1_000 });
  const pool = credentialPool({ members: [{ name: 'app', budgets: [budget] }] });
  const door = admission({ pool });
  const credits = creditPool({ max: 4 * ITEMS });
  let asked = 0;
  const open = ({ credits: room, signal }: PageReadOptions): PageReader<readonly string[]> => ({
    async read() {
      if (asked === pages) return undefined;
      asked += 1;
      const permit = await door.acquire({ credits: room, items: ITEMS, signal });
      permit.sent();
      permit.answered();
      permit.credit.resize(items.length);
      return [{ value: items, credit: permit.credit }];
    },
  });
  const startedAt = performance.now();
  await lastValueFrom(
    drain(open, (page) => page, { credits }),
    { defaultValue: undefined },
  );
  return ((performance.now() - startedAt) * 1_000) / pages;
}
