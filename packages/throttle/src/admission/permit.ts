import type { BudgetEvidence, Slot } from '../budget/rate-budget.ts';
import type { CredentialPool, Taken } from './credential-pool.ts';
import type { Credit } from './credit-pool.ts';

/**
 * A slot of each affected budget and the credit for one response, granted in one step. Disposing the permit releases its credit, and aborts
 * the permit unless it is already settled. If the credit must outlive the permit, call `answered`, `aborted` or `unsent` instead.
 */
export class Permit implements Disposable {
  /** Name of the credential whose budgets were taken. */
  readonly credential: string;
  /** The capacity reserved for the response; `resize` it to the items that arrived. */
  readonly credit: Credit;
  readonly #pool: CredentialPool;
  readonly #taken: Taken;
  readonly #onSettled: () => void;
  #isSent = false;

  /** `onSettled` is called when the permit has changed its budgets: something may start earlier than before. */
  constructor(pool: CredentialPool, taken: Taken, credit: Credit, onSettled: () => void) {
    this.credential = taken.member.name;
    this.credit = credit;
    this.#pool = pool;
    this.#taken = taken;
    this.#onSettled = onSettled;
  }

  /**
   * Call it right before you send the request's first byte. Returns false if the request must not be sent any more: a budget was put on hold
   * since, a response has shown that its capacity is gone, the lease has expired, or the credential was retired. Then call `aborted` to free
   * the slots, and acquire another permit.
   */
  sent(): boolean {
    const { member, slots } = this.#taken;
    const maySend = this.#pool.has(member) && slots.every((slot) => slot?.sent() !== false);
    this.#isSent ||= maySend;
    return maySend;
  }

  /** Call it when the response arrives, with what the response reports about each budget of the credential, in their order. */
  answered(evidence?: readonly (BudgetEvidence | undefined)[]): void {
    this.#settle((slot, i) => slot.answered(evidence?.[i]));
  }

  /**
   * Sets the request's actual cost in each budget of the credential, in their order. Undefined leaves a cost unchanged. Throws a
   * `RangeError` for an invalid cost.
   */
  corrected(costs: readonly (number | undefined)[]): void {
    this.#settle(
      (slot, i) => {
        const cost = costs[i];
        if (cost !== undefined) slot.corrected(cost);
      },
      Math.max(0, ...costs.map((cost) => cost ?? 0)),
    );
  }

  /**
   * Call it if the request was given up. If it was never sent, the slots are free at once. Otherwise they stay busy, because the service may
   * still count the request.
   */
  aborted(): void {
    // The request was sent only if `sent` returned true. Otherwise each slot is free at once.
    this.#settle((slot) => (this.#isSent ? slot.aborted() : slot.unsent()));
  }

  /** Call it if no byte of the request was sent although `sent` returned true. The slots are free again at once. */
  unsent(): void {
    this.#settle((slot) => slot.unsent());
  }

  /** Releases the credit, and aborts the permit unless it is already settled. */
  [Symbol.dispose](): void {
    this.aborted();
    this.credit.release();
  }

  #settle(settle: (slot: Slot, budget: number) => void, added = 0): void {
    const { member, slots } = this.#taken;
    for (const [i, slot] of slots.entries()) if (slot !== undefined) settle(slot, i);
    member.journal?.settled(added);
    this.#onSettled();
  }
}
