import type { Clock } from '@headgate/throttle';
import type { SourceOutage } from '../source.ts';
import { abortable } from './any-signal.ts';
import { delayMs } from './backoff.ts';

export interface ServiceOutageOptions {
  readonly clock: Clock;
  /** A number in [0, 1). */
  readonly random: () => number;
  /** False: no outage is ever found, and each request tries again by itself. */
  readonly isWaitedOut: boolean;
  /** Called when an outage has begun, goes on after a fault, or is over. */
  readonly onChange: () => void;
}

/** A fault that may be the service's, as against an answer that shows that the service is up. */
export interface Fault {
  /**
   * - `unreached`: no byte of the request went out, so it can't be at fault.
   * - `unavailable`: sent, and no answer came, or not all of it, or 502, 503 or 504.
   * - `error`: another 5xx, which one request alone may cause.
   */
  readonly kind: 'unreached' | 'unavailable' | 'error';
  /** In words. */
  readonly reason: string;
  /** Monotonic ms when the attempt began. */
  readonly fromMs: number;
  /** The least wait that the answer requests, ms. */
  readonly retryInMs: number | undefined;
  /** The request would be given up now. */
  readonly isLast: boolean;
}

/** One request of the source, from its first attempt to its end. */
export interface Turn {
  /**
   * Asks for leave to queue for a permit: undefined where it has it at once. The promise resolves when it has, and rejects with the
   * signal's reason. `interrupt` is called when it has to leave that queue again, and to ask once more.
   */
  enter(signal: AbortSignal, interrupt: () => void): Promise<void> | undefined;
  /** A permit has come: false where it must be given back unused. */
  asks(): boolean;
  /** An answer has come that shows that the service is up. */
  answered(): void;
  /** An attempt has met a fault. Returns the ms until the next attempt of any request while the service is down, else undefined. */
  failed(fault: Fault): number | undefined;
  /** The reason, in a sentence, why it is taken to be at fault itself though no other request was answered, where it is. */
  readonly blame: string | undefined;
  /** It has ended. */
  left(): void;
}

/** A request among those that wait for the service. */
export interface WaitingForService {
  readonly label: string;
  readonly walk?: object;
  /** Its cost in each budget, in their order. */
  readonly weights: readonly number[];
}

export interface ServiceOutage {
  /** `requests`: so many of its caller's it stands for, default 1. */
  begin(request: WaitingForService, requests?: number): Turn;
  /** Monotonic ms, without the time in which the service was down. */
  upMs(): number;
  readonly current: SourceOutage | undefined;
  /** The requests that wait for the service, in the order of their coming. */
  waiting(): readonly WaitingForService[];
}

interface Asker {
  readonly request: WaitingForService;
  readonly requests: number;
  interrupt: () => void;
  /** Attempts in the current outage. */
  tried: number;
  /** Monotonic ms before which its own answer lets it not be sent. */
  notBeforeMs: number;
  /** Faults of its own while other requests were answered, since its last answer. */
  strikes: number;
  /** The reason, in a sentence, why it is taken to be at fault itself though no other was answered; until it is answered. */
  blame: string | undefined;
}

/** Faults without an answer between. */
interface Faults {
  readonly first: Asker;
  /** Monotonic ms when the first of their attempts began, or of the answer before. */
  readonly fromMs: number;
  count: number;
  /** One of them is more than an `error`. */
  isService: boolean;
  /** They are of several requests. */
  isShared: boolean;
  /** Of the attempts that went out since one that didn't. */
  sent: Sent | undefined;
}

interface Sent {
  /** Ms in which few requests were tried. */
  triedMs: number;
  /** Monotonic ms of the last fault. */
  lastMs: number;
  /** By request, `triedMs` when the first of its attempts began. */
  readonly of: Map<Asker, number>;
}

interface Down {
  /** Monotonic ms. */
  readonly fromMs: number;
  attempts: number;
  reason: string;
  /** The request that has the permit to ask. */
  probe: Asker | undefined;
  probes: number;
  /** Monotonic ms before which no request is let go. */
  probeAtMs: number;
}

/** So many faults while others are answered are the request's own: an outage that comes and goes looks the same for a while. */
const STRIKES = 3;
/** So few requests that meet nothing but faults, and may cause them, are waited for this long. */
const FEW = 10;
const LONGEST_FOR_FEW_MS = 24 * 60 * 60_000;
/** So much of the time between two attempts counts as one in which they were tried: a machine may sleep for days. */
const LONGEST_BETWEEN_MS = 60 * 60_000;
/** The longest believable wait that a failing service requests. */
const LONGEST_HOLD_MS = 24 * 60 * 60_000;

/**
 * Tells an outage of a service from the faults of one request, and lets one request ask while it lasts. The law:
 *
 * 1. Any whole answer but a 5xx, of any request, shows that the service is **up**.
 * 2. The service is **down** after two faults without an answer between, of attempts that began after the last answer. Where all of them
 *    are answers like 500, which one request may cause, they have to be of two requests. One fault of the other kinds is enough where the
 *    request would be given up for it. The outage began with the first of the faults.
 * 3. A request that met faults three times while others were answered is at fault **itself**: until it is answered, its faults show
 *    nothing of the service, unless no byte of it went out. So are ten requests at most, each after a day in which it was tried and no more
 *    than ten were sent, and all met nothing but faults; those that were given up so since the last answer are among the ten. A service that
 *    can't be reached is waited for without end.
 * 4. While the service is down one request is the **probe**; all others wait. After each fault a request that was tried least is the next,
 *    after half to all of a delay that doubles from 500 ms to 30 s, and no sooner than the answers say (`Retry-After`): the first that
 *    says so speaks for itself, the second for all. A probe whose budgets keep it waiting longer than the delay gets company in the queue;
 *    the first that has a permit goes, and the rest wait on.
 * 5. The outage is **over** with the first answer, or when all that wait are at fault themselves. Then all go on.
 * 6. `upMs` stands still from the beginning of an outage to its end. A request's time for retries is measured by it, so that an outage
 *    brings no request nearer to its end.
 */
export function serviceOutage({ clock, random, isWaitedOut, onChange }: ServiceOutageOptions): ServiceOutage {
  /** Requests that wait for a permit, with leave. */
  const queued = new Set<Asker>();
  const waiting = new Map<Asker, () => void>();
  /** Requests that were sent and have met a fault since the last answer. */
  const suspects = new Set<Asker>();
  /** Faults since the last answer. */
  let faults: Faults | undefined;
  let down: Down | undefined;
  let answeredAtMs = -Infinity;
  /** Requests that were taken to be at fault for being few, and have ended since the last answer. */
  let blamed = 0;
  /** Of the outages that are over. */
  let downMs = 0;
  /** When it is looked for a probe next; Infinity: not before something happens. */
  let lookAtMs = Infinity;
  let cancelTimer: (() => void) | undefined;

  const isOwn = ({ strikes, blame }: Asker): boolean => strikes >= STRIKES || blame !== undefined;
  /** The waiting request that may be sent first; among equals one that was tried least, among these the first that came. */
  const next = (): { readonly asker: Asker; readonly atMs: number } | undefined => {
    let found: { readonly asker: Asker; readonly atMs: number } | undefined;
    for (const asker of waiting.keys()) {
      const atMs = maySendAtMs(asker);
      if (found === undefined || atMs < found.atMs || (atMs === found.atMs && asker.tried < found.asker.tried)) found = { asker, atMs };
    }
    return found;
  };
  const maySendAtMs = ({ notBeforeMs }: Asker): number => Math.max(down?.probeAtMs ?? -Infinity, notBeforeMs);
  const letGo = (asker: Asker): void => {
    const go = waiting.get(asker);
    waiting.delete(asker);
    queued.add(asker);
    go?.();
  };
  const forget = (asker: Asker): void => {
    asker.tried = 0;
    asker.notBeforeMs = -Infinity;
  };
  const look = (): void => {
    cancelTimer?.();
    cancelTimer = undefined;
    lookAtMs = Infinity;
    if (down === undefined || down.probe !== undefined) return;
    const found = next();
    if (found === undefined) return;
    const now = clock.monotonicMs();
    if (found.atMs <= now) {
      down.probeAtMs = now + delayOf(down.probes);
      letGo(found.asker);
      look();
      return;
    }
    lookAtMs = found.atMs;
    cancelTimer = clock.schedule(lookAtMs - now, look);
  };
  const delayOf = (probes: number): number => delayMs(probes) * (0.5 + random() / 2);
  const interruptQueued = (): void => {
    const all = [...queued];
    queued.clear();
    for (const { interrupt } of all) interrupt();
  };
  const over = (): void => {
    faults = undefined;
    if (down === undefined) return;
    downMs += clock.monotonicMs() - down.fromMs;
    down = undefined;
    look();
    for (const asker of waiting.keys()) {
      forget(asker);
      letGo(asker);
    }
    onChange();
  };

  const answered = (by: Asker): void => {
    answeredAtMs = clock.monotonicMs();
    for (const asker of suspects) asker.strikes += 1;
    suspects.clear();
    by.strikes = 0;
    by.blame = undefined;
    blamed = 0;
    over();
  };

  const areFew = (askers: ReadonlyMap<Asker, unknown>): boolean => {
    if (askers.size > FEW) return false;
    let all = blamed;
    for (const { requests } of askers.keys()) all += requests;
    return all <= FEW;
  };

  /** Notes that an attempt has gone out and met a fault: a few requests that have met nothing else for a day are at fault. */
  const noteSent = (asker: Asker, known: Faults, fromMs: number): void => {
    const now = clock.monotonicMs();
    const sent = (known.sent ??= { triedMs: 0, lastMs: fromMs, of: new Map() });
    const { of } = sent;
    const isNew = !of.has(asker);
    if (isNew) of.set(asker, 0);
    const few = areFew(of);
    if (few) sent.triedMs += Math.min(now - sent.lastMs, LONGEST_BETWEEN_MS);
    sent.lastMs = now;
    if (isNew) of.set(asker, Math.max(0, sent.triedMs - Math.min(now - fromMs, LONGEST_BETWEEN_MS)));
    if (!few) return;
    const atFault = [...of].filter(([, triedFromMs]) => sent.triedMs - triedFromMs >= LONGEST_FOR_FEW_MS);
    const others = atFault.length === 1 ? '' : ` and ${atFault.length - 1} other${atFault.length === 2 ? '' : 's'}`;
    for (const [one] of atFault) one.blame ??= `It${others} had been tried for 24 hours, and no request was answered.`;
  };

  const failed = (asker: Asker, { kind, reason, fromMs, retryInMs = 0, isLast }: Fault): number | undefined => {
    if (!isWaitedOut) return undefined;
    const now = clock.monotonicMs();
    const isService = kind !== 'error';
    const isLate = fromMs < answeredAtMs;
    if (kind !== 'unreached') {
      if (isLate) asker.strikes += 1;
      else suspects.add(asker);
    }
    const isItself = (): boolean => kind !== 'unreached' && isOwn(asker);
    if (!isItself() && (!isLate || (isLast && isService))) {
      faults ??= { first: asker, fromMs: Math.max(fromMs, answeredAtMs), count: 0, isService: false, isShared: false, sent: undefined };
      if (kind === 'unreached') faults.sent = undefined;
      else noteSent(asker, faults, Math.max(fromMs, answeredAtMs));
      faults.count += 1;
      faults.isService ||= isService;
      faults.isShared ||= faults.first !== asker;
      if (down === undefined && ((faults.count > 1 && (faults.isService || faults.isShared)) || (isLast && isService))) {
        down = { fromMs: faults.fromMs, attempts: faults.count - 1, reason, probe: undefined, probes: 0, probeAtMs: now + delayOf(0) };
        interruptQueued();
      }
    }
    if (down === undefined) return undefined;
    if (isItself() && [...waiting.keys()].every(isOwn)) {
      over();
      return undefined;
    }
    down.reason = reason;
    down.attempts += 1;
    asker.tried += 1;
    if (retryInMs <= LONGEST_HOLD_MS) asker.notBeforeMs = now + retryInMs;
    if (down.probe === asker) {
      down.probe = undefined;
      down.probes += 1;
      down.probeAtMs = now + delayOf(down.probes);
    }
    if (faults?.isShared === true && retryInMs <= LONGEST_HOLD_MS) down.probeAtMs = Math.max(down.probeAtMs, now + retryInMs);
    look();
    onChange();
    return Math.max(0, Math.min(lookAtMs, maySendAtMs(asker)) - now);
  };

  return {
    begin(request, requests = 1) {
      const asker: Asker = {
        request,
        requests,
        interrupt: () => undefined,
        tried: 0,
        notBeforeMs: -Infinity,
        strikes: 0,
        blame: undefined,
      };
      const released = (): void => {
        if (down?.probe !== asker) return;
        down.probe = undefined;
        look();
      };
      return {
        enter(signal, interrupt) {
          asker.interrupt = interrupt;
          released();
          if (down === undefined) {
            forget(asker);
            queued.add(asker);
            return undefined;
          }
          return abortable(signal, (resolve) => {
            waiting.set(asker, resolve);
            if (maySendAtMs(asker) < lookAtMs) look();
            return () => {
              waiting.delete(asker);
              if (waiting.size === 0) look();
            };
          });
        },
        asks() {
          if (!queued.delete(asker)) return false;
          if (down !== undefined) {
            down.probe = asker;
            interruptQueued();
            look();
          }
          return true;
        },
        answered: () => answered(asker),
        failed: (fault) => failed(asker, fault),
        left() {
          queued.delete(asker);
          waiting.delete(asker);
          suspects.delete(asker);
          faults?.sent?.of.delete(asker);
          if (asker.blame !== undefined) blamed += requests;
          released();
        },
        get blame() {
          return asker.blame;
        },
      };
    },
    upMs: () => (down?.fromMs ?? clock.monotonicMs()) - downMs,
    get current() {
      if (down === undefined) return undefined;
      const { fromMs, reason, attempts, probe } = down;
      const offset = clock.epochMs() - clock.monotonicMs();
      const atMs = probe === undefined && queued.size === 0 ? next()?.atMs : undefined;
      return {
        since: fromMs + offset,
        attempts,
        reason,
        ...(atMs !== undefined && { retryAt: atMs + offset }),
        waiting: waiting.size,
      };
    },
    waiting: () => Array.from(waiting.keys(), ({ request }) => request),
  };
}
