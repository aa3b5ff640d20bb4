import type { Law, NotedTransaction, Step, TransactionId } from './transaction-law.ts';

/**
 * Options of a model of one transactional ID: its coordinator, a partition of state and one of records, and writers that follow a law step by
 * step. Connections break during any request, requests arrive late, writers die, transactions time out, and brokers skip end markers.
 */
export interface ModelOptions {
  readonly law: ModelLaw;
  /** Version of Kafka's transactions. Version 2 raises the epoch with each transaction, and registers partitions when they are written to. */
  readonly version: 1 | 2;
  /** Number of writers. All of them write the same pages, and each can begin at any time. */
  readonly writers: number;
  readonly pages: number;
  /** How often a connection can break. The request on it arrives at any later time, or never. */
  readonly cuts: number;
  readonly deaths: number;
  /** How often a partition can miss an end marker. */
  readonly skips: number;
  readonly timeouts: number;
  /** How often writers, taken together, can begin again after an error. After that, a writer with an error dies. */
  readonly restarts: number;
}

/** Texts by partition. */
export type Content = Readonly<Record<number, string>>;
/** A step of an earlier law, which asks the coordinator how the last transaction has ended. */
export interface Describe {
  readonly do: 'describe';
  wasCommitted: boolean;
}
export type ModelStep = Step<Content> | Describe;
export type ModelSteps = Generator<ModelStep, void, void>;

export interface ModelLaw {
  begin(barrier: Content): ModelSteps | Law<Content>;
  write(content: Content, id?: TransactionId): ModelSteps | Law<Content>;
  settle(): ModelSteps | Law<Content>;
  /** True if a writer believes the newest committed note, without looking for the records that the note lists. */
  readonly trustsMemory?: boolean;
  /** True if a writer can be done before readers can read everything that was acknowledged. */
  readonly mayHide?: boolean;
}

interface Entry {
  readonly epoch: number;
  readonly text?: string;
  /** ID of the transaction, such as `A1`. */
  readonly id?: string;
  /** The partitions of the transaction, in the entry that contains its note. */
  readonly parts?: readonly number[];
  readonly marker?: 'commit' | 'abort';
}

interface Coordinator {
  epoch: number;
  state: 'empty' | 'ongoing' | 'ending' | 'complete';
  commit: boolean;
  parts: number[];
  /** Partitions that haven't got their end marker yet. */
  pending: number[];
}

type Request =
  | { readonly api: 'init' }
  | { readonly api: 'add'; readonly epoch: number; readonly parts: readonly number[] }
  | { readonly api: 'produce'; readonly epoch: number; readonly part: number; readonly entry: Entry }
  | { readonly api: 'end'; readonly epoch: number; readonly commit: boolean; readonly bumps: boolean };

interface Writer {
  readonly name: string;
  mode: 'begin' | 'write' | 'settle' | 'done' | 'lost' | 'dead' | 'absent';
  /** The outcomes of the law's steps so far. */
  history: Partial<ModelStep>[];
  /** Indexes of the current step's requests that were answered. */
  sent: number[];
  epoch: number;
  /** By partition, the offset after the last transaction's records; empty after all partitions have shown the end of this transaction. */
  unended: Record<number, number>;
  /** The number of the writer's newest transaction that counts. */
  counted: number;
  page: number;
}

interface World {
  coordinator: Coordinator;
  logs: Entry[][];
  writers: Writer[];
  late: Request[];
  acknowledged: number[];
  /** Acknowledged pages that readers couldn't read when a writer was done. */
  hidden: number[];
  left: { cuts: number; deaths: number; skips: number; timeouts: number; restarts: number };
}

type NotedEntry = NotedTransaction & { readonly entry: Entry };

const STATE = 0;
const RECORDS = 1;
const PARTS = [STATE, RECORDS];

export interface Violation {
  readonly what: string;
  readonly trace: readonly string[];
}

export interface Explored {
  readonly states: number;
  readonly violation: Violation | undefined;
}

/** Visits every reachable state once. Stops at the first violation, and after `mostStates`. */
export function explore(options: ModelOptions, mostStates = Infinity): Explored {
  const first = JSON.stringify(newWorld(options));
  const from = new Map<string, readonly [before: string, action: string]>();
  const checked = new Set<string>();
  const seen = new Set([first]);
  const queue = [first];
  for (let at = queue.pop(); at !== undefined; at = queue.pop()) {
    for (const [action, next] of successors(at, options)) {
      if (seen.has(next)) continue;
      seen.add(next);
      from.set(next, [at, action]);
      const what = wrong(next, options, checked);
      if (what !== undefined) return { states: seen.size, violation: { what, trace: wayTo(next, from) } };
      queue.push(next);
    }
    if (seen.size > mostStates) break;
  }
  return { states: seen.size, violation: undefined };
}

/** Follows random paths from the first state to an end. `random` returns numbers from 0 to below 1. */
export function walkAtRandom(
  options: ModelOptions,
  { walks, random }: { readonly walks: number; readonly random: () => number },
): Explored {
  const checked = new Set<string>();
  let states = 0;
  for (let left = walks; left > 0; left -= 1) {
    const trace: string[] = [];
    for (let at = JSON.stringify(newWorld(options)); ;) {
      const nexts = [...successors(at, options)];
      const next = nexts[Math.floor(random() * nexts.length)];
      if (next === undefined) break;
      states += 1;
      trace.push(next[0]);
      at = next[1];
      const what = wrong(at, options, checked);
      if (what !== undefined) return { states, violation: { what, trace } };
    }
  }
  return { states, violation: undefined };
}

function wayTo(last: string, from: ReadonlyMap<string, readonly [before: string, action: string]>): readonly string[] {
  const trace: string[] = [];
  for (let step = from.get(last); step !== undefined; step = from.get(step[0])) trace.unshift(step[1]);
  return trace;
}

function newWorld({ writers, cuts, deaths, skips, timeouts, restarts }: ModelOptions): World {
  return {
    coordinator: { epoch: 0, state: 'empty', commit: false, parts: [], pending: [] },
    logs: PARTS.map(() => []),
    writers: Array.from({ length: writers }, (_, index) => newWriter(String.fromCodePoint(65 + index), 'absent')),
    late: [],
    acknowledged: [],
    hidden: [],
    left: { cuts, deaths, skips, timeouts, restarts },
  };
}

function newWriter(name: string, mode: Writer['mode']): Writer {
  return { name, mode, history: [], sent: [], epoch: -1, unended: {}, counted: 0, page: 0 };
}

function* successors(state: string, options: ModelOptions): Generator<readonly [action: string, next: string]> {
  const parse = (): World => JSON.parse(state) as World;
  const world = parse();
  for (const [index, writer] of world.writers.entries()) {
    const { name, mode } = writer;
    // Absent writers are all alike, so only the first of them can start.
    if (mode === 'absent' && world.writers[index - 1]?.mode !== 'absent') {
      const next = parse();
      at(next.writers, index).mode = 'begin';
      yield [`${name} comes`, key(next)];
    }
    if (mode !== 'begin' && mode !== 'write' && mode !== 'settle') continue;
    if (world.left.deaths > 0) {
      const next = parse();
      at(next.writers, index).mode = 'dead';
      next.left.deaths -= 1;
      yield [`${name} dies`, key(next)];
    }
    const step = stepOf(writer, options);
    for (const [nth, request] of requestsOf(step, writer, options).entries()) {
      if (writer.sent.includes(nth)) continue;
      const next = parse();
      const label = `${name} ${step.do}: ${JSON.stringify(request)}`;
      const outcome = apply(next, request, options);
      if (outcome !== 'wait') {
        answer(next, at(next.writers, index), { step, nth, outcome, options });
        yield [label, key(next)];
      }
      if (world.left.cuts > 0) {
        const cut = parse();
        cut.left.cuts -= 1;
        cut.late.push(request);
        restart(cut, at(cut.writers, index));
        yield [`${label}, cut`, key(cut)];
      }
      break;
    }
    const next = parse();
    const reader = at(next.writers, index);
    const read = readOf(next, reader, step);
    if (read === 'lost') reader.mode = 'lost';
    else if (read === 'failed') restart(next, reader);
    else if (read !== undefined) finish(next, reader, { step: read, options });
    if (read !== undefined) yield [`${name} ${step.do}`, key(next)];
  }
  for (const [index, request] of world.late.entries()) {
    const next = parse();
    next.late.splice(index, 1);
    if (apply(next, request, options) !== 'wait') yield [`late: ${JSON.stringify(request)}`, key(next)];
  }
  yield* brokersDo(world, parse);
}

/**
 * Returns the state as text, without requests that would always be refused and without the details of writers that have ended, because neither
 * matters any more.
 */
function key(world: World): string {
  const { coordinator, writers, late } = world;
  world.late = late.filter((request) => !('epoch' in request) || request.epoch >= coordinator.epoch);
  for (const { name, mode } of writers)
    if (mode === 'dead' || mode === 'lost' || mode === 'done')
      writers[writers.findIndex((each) => each.name === name)] = newWriter(name, mode);
  return JSON.stringify(world);
}

function* brokersDo(world: World, parse: () => World): Generator<readonly [action: string, next: string]> {
  const { pending } = world.coordinator;
  for (const skipped of subsets(pending)) {
    if (pending.length === 0 || skipped.length > world.left.skips) continue;
    const next = parse();
    for (const part of pending) mark(next, part, skipped.includes(part));
    next.left.skips -= skipped.length;
    yield [`markers, but for ${skipped.join(' and ') || 'none'}`, key(next)];
  }
  if (world.coordinator.state === 'ongoing' && world.left.timeouts > 0) {
    const next = parse();
    next.left.timeouts -= 1;
    prepare(next.coordinator, false, 1);
    yield ['time-out', key(next)];
  }
}

function subsets(items: readonly number[]): readonly (readonly number[])[] {
  return items.reduce<number[][]>((sets, item) => [...sets, ...sets.map((set) => [...set, item])], [[]]);
}

function prepare(coordinator: Coordinator, commit: boolean, bump: number): void {
  Object.assign(coordinator, { state: 'ending', commit, epoch: coordinator.epoch + bump, pending: [...coordinator.parts] });
  if (coordinator.pending.length === 0) coordinator.state = 'complete';
}

function mark({ coordinator, logs }: World, part: number, isSkipped: boolean): void {
  coordinator.pending = coordinator.pending.filter((each) => each !== part);
  if (!isSkipped) at(logs, part).push({ epoch: coordinator.epoch, marker: coordinator.commit ? 'commit' : 'abort' });
  if (coordinator.pending.length === 0) Object.assign(coordinator, { state: 'complete', parts: [] });
}

/** Applies a request to the brokers, and returns their response; a number is the new epoch. */
function apply(world: World, request: Request, { version }: ModelOptions): 'done' | 'refused' | 'wait' | number {
  const { coordinator, logs } = world;
  if (coordinator.state === 'ending') return 'epoch' in request && request.epoch !== coordinator.epoch ? 'refused' : 'wait';
  if (request.api === 'init') {
    if (coordinator.state === 'ongoing') {
      prepare(coordinator, false, 1);
      // If no partition was registered, no end marker is pending, and the request succeeds at once.
      if (at([coordinator], 0).pending.length > 0) return 'refused';
    }
    coordinator.epoch += 1;
    coordinator.state = 'empty';
    return coordinator.epoch;
  }
  if (request.epoch !== coordinator.epoch) return 'refused';
  switch (request.api) {
    case 'add':
      coordinator.state = 'ongoing';
      coordinator.parts = [...new Set([...coordinator.parts, ...request.parts])].sort();
      return 'done';
    case 'produce': {
      const { part, entry } = request;
      if (version === 2 && !coordinator.parts.includes(part)) {
        coordinator.state = 'ongoing';
        coordinator.parts = [...coordinator.parts, part].sort();
      }
      if (coordinator.state !== 'ongoing' || !coordinator.parts.includes(part)) return 'refused';
      at(logs, part).push(entry);
      return 'done';
    }
    case 'end':
      if (coordinator.state === 'complete' && coordinator.commit === request.commit) return 'done';
      if (coordinator.state !== 'ongoing') return 'refused';
      prepare(coordinator, request.commit, request.bumps ? 1 : 0);
      return 'done';
  }
  return request satisfies never;
}

function stepOf(writer: Writer, options: ModelOptions): ModelStep {
  const law = lawOf(writer, options);
  let next = law.next();
  for (const outcome of writer.history) {
    if (next.done !== true) Object.assign(next.value, outcome);
    next = law.next();
  }
  if (next.done === true) throw new TypeError('The law has ended.');
  return next.value;
}

function lawOf({ mode, name, page, counted }: Writer, { law }: ModelOptions): ModelSteps | Law<Content> {
  if (mode === 'begin') return law.begin({ [STATE]: `${name} took it` });
  if (mode === 'settle') return law.settle();
  return law.write({ [STATE]: String(page), [RECORDS]: String(page) }, { incarnation: name, number: counted + 1 });
}

function requestsOf(step: ModelStep, { epoch, unended }: Writer, { version }: ModelOptions): readonly Request[] {
  switch (step.do) {
    case 'fence':
      return [{ api: 'init' }];
    case 'end':
      if (!step.again) return [{ api: 'end', epoch, commit: step.commit, bumps: version === 2 }];
      return [
        { api: 'add', epoch, parts: Object.keys(unended).map(Number) },
        { api: 'end', epoch, commit: step.commit, bumps: false },
      ];
    case 'write': {
      const { content, id } = step;
      const parts = [...new Set([...Object.keys(content).map(Number), ...(id === undefined ? [] : [STATE])])].sort();
      const entries = parts.map((part): Request => {
        const note = id === undefined ? {} : { id: `${id.incarnation}${id.number}`, ...(part === STATE && { parts }) };
        return { api: 'produce', epoch, part, entry: { epoch, text: content[part] ?? '', ...note } };
      });
      return version === 1 ? [{ api: 'add', epoch, parts }, ...entries] : entries;
    }
    case 'poll':
    case 'read':
    case 'find':
    case 'describe':
      return [];
  }
  return step satisfies never;
}

interface Answered {
  readonly step: ModelStep;
  readonly nth: number;
  readonly outcome: 'done' | 'refused' | number;
  readonly options: ModelOptions;
}

function answer(world: World, writer: Writer, { step, nth, outcome, options }: Answered): void {
  if (outcome === 'refused') {
    // A fence is refused while it aborts an open transaction, and is then sent again.
    if (step.do !== 'fence') restart(world, writer);
    return;
  }
  writer.sent.push(nth);
  writer.sent.sort();
  const requests = requestsOf(step, writer, options);
  if (writer.sent.length < requests.length) return;
  const ends = (parts: readonly number[]): Record<number, number> =>
    Object.fromEntries(parts.map((part) => [part, at(world.logs, part).length]));
  if (typeof outcome === 'number') {
    writer.epoch = outcome;
    writer.unended = ends(PARTS);
  }
  const [request] = requests;
  if (step.do === 'end' && !step.again && request?.api === 'end' && request.bumps) writer.epoch += 1;
  if (step.do === 'end' && step.again) writer.unended = ends(Object.keys(writer.unended).map(Number));
  if (step.do === 'write') writer.unended = ends(requests.flatMap((each) => (each.api === 'produce' ? [each.part] : [])));
  finish(world, writer, { step, options });
}

/** Returns the outcome of a step that only reads; undefined while there is none yet, and for other steps. */
function readOf({ coordinator, logs }: World, { name, unended }: Writer, step: ModelStep): ModelStep | 'lost' | 'failed' | undefined {
  switch (step.do) {
    case 'poll': {
      const isEnded = Object.entries(unended).every(([part, end]) => stableEnd(at(logs, Number(part))) >= end);
      return !isEnded && coordinator.state === 'ending' ? undefined : { ...step, isEnded };
    }
    case 'read': {
      const log = at(logs, STATE);
      if (stableEnd(log) < log.length) return undefined;
      // The writer reads up to its own barrier, which another writer may have aborted.
      const barrier = log.findLastIndex(({ text }) => text === `${name} took it`);
      if (barrier >= 0 && log.slice(barrier).find(({ marker }) => marker !== undefined)?.marker === 'abort') return 'failed';
      return isTakenFrom(name, log) ? 'lost' : { ...step, transactions: noted(log) };
    }
    case 'find': {
      const { entry, isWhole } = step.transaction as NotedEntry;
      const found = (entry.parts ?? []).map((part) => ({ part, ...fateOf(at(logs, part), entry) }));
      const lost = found.filter(({ fate }) => fate === 'abort').map(({ part, text }) => [part, text]);
      return {
        ...step,
        isWhole: isWhole || found.every(({ fate }) => fate !== undefined),
        ...(lost.length > 0 && { lost: Object.fromEntries(lost) as Content }),
      };
    }
    case 'describe':
      return coordinator.state === 'ending' ? undefined : { ...step, wasCommitted: coordinator.state === 'complete' && coordinator.commit };
    case 'fence':
    case 'end':
    case 'write':
      return undefined;
  }
  return step satisfies never;
}

/** Ends a step. After the last step of a law, the mode of the writer changes. */
function finish(world: World, writer: Writer, { step, options }: { readonly step: ModelStep; readonly options: ModelOptions }): void {
  if (step.do === 'poll' && step.isEnded) writer.unended = {};
  const { do: _, ...outcome } = step;
  writer.history.push(outcome);
  writer.sent = [];
  const law = lawOf(writer, options);
  let next = law.next();
  for (const each of writer.history) {
    if (next.done !== true) Object.assign(next.value, each);
    next = law.next();
  }
  if (next.done === true) ended(world, writer, options);
  // A poll without anything to wait for ends at once. As a separate state it would make no difference.
  else if (next.value.do === 'poll' && Object.keys(writer.unended).length === 0)
    finish(world, writer, { step: { ...next.value, isEnded: true }, options });
}

function ended(world: World, writer: Writer, { pages, law }: ModelOptions): void {
  const { mode, history, name } = writer;
  const proceed = (): void => {
    world.acknowledged = [...new Set([...world.acknowledged, writer.page])].sort();
    writer.counted += 1;
    writer.page += 1;
  };
  if (mode === 'settle') {
    writer.mode = 'done';
    const isOpen = (page: number): boolean => world.logs.some((log) => log.slice(stableEnd(log)).some(({ text }) => text === String(page)));
    world.hidden = world.acknowledged.filter(isOpen);
  }
  if (mode === 'write') proceed();
  if (mode === 'begin') {
    const log = at(world.logs, STATE);
    const whole = history.findLast((outcome) => 'isWhole' in outcome && outcome.isWhole) as { transaction?: NotedTransaction } | undefined;
    const id = law.trustsMemory === true ? noted(log).at(0)?.id : whole?.transaction?.id;
    if (writer.page === 0) writer.page = 1 + Math.max(0, ...visible(log).map(Number).filter(Number.isInteger));
    else if (id?.incarnation === name && id.number > writer.counted) proceed();
  }
  if (mode !== 'settle') writer.mode = writer.page > pages ? 'settle' : 'write';
  writer.history = [];
}

function restart({ logs, left }: World, writer: Writer): void {
  if (isTakenFrom(writer.name, at(logs, STATE))) writer.mode = 'lost';
  else writer.mode = left.restarts > 0 ? 'begin' : 'dead';
  left.restarts -= 1;
  Object.assign(writer, { history: [], sent: [], unended: {} });
}

/** True if another writer has taken the lane since this one first took it. */
function isTakenFrom(name: string, log: readonly Entry[]): boolean {
  const takings = visible(log).filter((text) => text.endsWith('took it'));
  const own = takings.indexOf(`${name} took it`);
  return own >= 0 && takings.slice(own).some((taking) => taking !== takings[own]);
}

/** The noted transactions, from the newest committed one on. */
function noted(log: readonly Entry[]): readonly NotedEntry[] {
  let notes: NotedEntry[] = [];
  let open: Entry[] = [];
  for (const entry of log) {
    if (entry.parts !== undefined) open.push(entry);
    if (entry.marker === undefined) continue;
    for (const note of open) {
      const id = { incarnation: note.id?.[0] ?? '', number: Number(note.id?.slice(1)) };
      notes = [...(entry.marker === 'commit' ? [] : notes), { id, isWhole: entry.marker === 'commit', entry: note }];
    }
    open = [];
  }
  return notes;
}

function fateOf(log: readonly Entry[], { id, epoch }: Entry): { readonly fate: Entry['marker']; readonly text: string } {
  const index = log.findIndex((entry) => entry.id === id && entry.epoch === epoch);
  const text = log[index]?.text ?? '';
  return { fate: index < 0 ? undefined : log.slice(index).find(({ marker }) => marker !== undefined)?.marker, text };
}

function stableEnd(log: readonly Entry[]): number {
  return log.findLastIndex(({ marker }) => marker !== undefined) + 1;
}

/** The texts that readers of committed records see. */
function visible(log: readonly Entry[]): readonly string[] {
  const texts: string[] = [];
  let open: string[] = [];
  for (const { text, marker } of log) {
    if (marker === undefined) open.push(text ?? '');
    else {
      if (marker === 'commit') texts.push(...open);
      open = [];
    }
  }
  return texts.filter((text) => text !== '');
}

/** Returns what is wrong with a state, now or after a new writer has replaced all others; undefined if nothing is wrong. */
function wrong(state: string, options: ModelOptions, checked: Set<string>): string | undefined {
  const world = JSON.parse(state) as World;
  const { coordinator, logs, acknowledged, hidden } = world;
  if (hidden.length > 0 && options.law.mayHide !== true) return `a writer is done, and readers stand before page ${hidden.join(', ')}`;
  const log = JSON.stringify([coordinator, logs, acknowledged]);
  if (checked.has(log)) return undefined;
  checked.add(log);
  for (const part of PARTS) {
    const pages = pagesIn(world, part);
    if (pages.some((page, index) => index > 0 && page !== (pages[index - 1] ?? 0) + 1))
      return `partition ${part} shows the pages ${pages.join(', ')}`;
  }
  const last = aloneAfter(world, options);
  if (last === undefined) return 'a newcomer never comes to an end';
  const [states, records] = PARTS.map((part) => pagesIn(last, part));
  if (JSON.stringify(states) !== JSON.stringify(records))
    return `a newcomer finds state ${states?.join(', ')} and records ${records?.join(', ')}`;
  const missing = acknowledged.filter((page) => records?.includes(page) !== true);
  return missing.length > 0 ? `acknowledged and lost: page ${missing.join(', ')}` : undefined;
}

/** Replaces all writers with a new one that meets no fault, and runs it to its end. Undefined if it doesn't come to an end. */
function aloneAfter(world: World, options: ModelOptions): World | undefined {
  const writer = newWriter('Z', 'begin');
  const alone = { ...options, pages: 0 };
  Object.assign(world, { writers: [writer], late: [], left: { cuts: 0, deaths: 0, skips: 0, timeouts: 0, restarts: 3 } });
  for (let left = 100; left > 0; left -= 1) {
    for (const part of world.coordinator.pending) mark(world, part, false);
    if (writer.mode === 'done') return world;
    if (writer.mode === 'dead' || writer.mode === 'lost') return undefined;
    const step = stepOf(writer, alone);
    const nth = writer.sent.length;
    const request = requestsOf(step, writer, alone)[nth];
    if (request !== undefined) {
      const outcome = apply(world, request, alone);
      if (outcome !== 'wait') answer(world, writer, { step, nth, outcome, options: alone });
      continue;
    }
    const read = readOf(world, writer, step);
    if (read === undefined || read === 'lost' || read === 'failed') return undefined;
    finish(world, writer, { step: read, options: alone });
  }
  return undefined;
}

function pagesIn({ logs }: World, part: number): readonly number[] {
  return visible(at(logs, part)).map(Number).filter(Number.isInteger);
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new RangeError(`There is no item ${index}.`);
  return item;
}
