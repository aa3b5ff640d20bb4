import { styleText } from 'node:util';
import { crawlRows } from './crawl-rows.ts';
import { faultName } from './fault-kind.ts';
import { heldBackWords } from './held-back-lanes.ts';
import { failedLaneWords, lanesWords, noLaneWords } from './lane-words.ts';
import { logUnavailableLines } from './log-words.ts';
import { displayWidth, fitWidth, padWidth } from './text/display-width.ts';
import { elapsedWords } from './text/duration-words.ts';
import { countWords, groupedNumber } from './text/number-words.ts';
import { safeText } from './text/safe-text.ts';
import { tableLines } from './text/table.ts';
import { budgetName, creditWords, fullCredits, holdingBudgets, isBusy } from './wait-words.ts';
import type { BudgetGauge, RunGauges } from './run-event.ts';
import type { RunSnapshot } from './run-snapshot.ts';
import type { TableLine, TableRow, Tone } from './text/table.ts';
import type { TimeWords } from './text/time-words.ts';

export interface LiveFrameOptions {
  readonly header: string;
  readonly snapshot: RunSnapshot;
  readonly gauges: RunGauges;
  /** Most cells a line may take. */
  readonly columns: number;
  /** Most lines the frame may take. */
  readonly rows: number;
  readonly color: boolean;
  readonly times: TimeWords;
  readonly readCommand: (topic: string) => string;
}

const recentFaultMs = 60_000;
const idleMs = 2000;
/** With fewer lines than this none is spent on blank ones. */
const roomyRows = 16;

/** One picture of a run: what each crawl does, what the budgets allow, and why nothing happens where nothing does. */
export function liveFrame(options: LiveFrameOptions): readonly string[] {
  const { snapshot, gauges, columns, rows, times } = options;
  const budgets = budgetLines(options);
  const shownBudgets = shorten(budgets, Math.max(2, Math.floor(rows / 4)));
  const notes = [...waits(options), ...deadLetters(options)].map((line) => ({ ...line, text: fitWidth(line.text, columns) }));
  const spaced = rows >= roomyRows ? 1 : 0;
  const fixed = [shownBudgets, notes].reduce((sum, block) => sum + (block.length > 0 ? spaced + block.length : 0), 1);
  const crawls = crawlRows({ snapshot, gauges, times, most: Math.max(1, rows - fixed - spaced) });
  const crawlLines = [...tableLines(crawls.rows, columns), ...(crawls.rest === '' ? [] : [plain(`  ${crawls.rest}`)])];

  return [[headerLine(options)], crawlLines, shownBudgets, notes]
    .filter((block) => block.length > 0)
    .flatMap((block, index) => (index === 0 || spaced === 0 ? block : [plain(''), ...block]))
    .slice(0, rows)
    .map((line) => coloured({ ...line, text: fitWidth(line.text, columns) }, options.color));
}

function headerLine({ header, snapshot, columns }: LiveFrameOptions): TableLine {
  const elapsed = elapsedWords(snapshot.now - snapshot.startedAt);
  const room = columns - displayWidth(elapsed) - 2;
  if (room < 10) return plain(fitWidth(elapsed, columns));
  const lanes = lanesWords(snapshot);
  // Where there is no room for both, the header is cut: it is known, the lanes change.
  const name = safeText(header, 1000);
  const text = lanes === '' ? name : `${fitWidth(name, room - displayWidth(lanes) - 3)}   ${lanes}`.trimStart();
  return plain(`${padWidth(text, room)}  ${elapsed}`);
}

function budgetLines({ gauges, snapshot, columns, times }: LiveFrameOptions): readonly TableLine[] {
  const holding = holdingBudgets(gauges, snapshot.now);
  const quotas = gauges.budgets.filter((one) => one.unit === 'isbns');
  const digits = Math.max(0, ...gauges.budgets.filter((one) => one.unit !== 'isbns').map((one) => groupedNumber(one.used).length));
  const withQuota = new Set<BudgetGauge>();
  const rows = gauges.budgets
    .filter((one) => one.unit !== 'isbns')
    .map((budget) => {
      const quota = quotas.find((one) => one.service === budget.service && one.credential === budget.credential);
      if (quota !== undefined) withQuota.add(quota);
      const held = holding.has(budget) ? budget : quota;
      return budgetRow(budget, digits, nextWords(held ?? budget), quota, held === undefined ? undefined : holding.get(held));
    });
  const alone = quotas
    .filter((one) => !withQuota.has(one))
    .map((one) => budgetRow(one, digits, nextWords(one), undefined, holding.get(one)));
  return tableLines([...rows, ...alone], columns);

  function nextWords(budget: BudgetGauge): string {
    if (budget.freeAt !== undefined && budget.freeAt > snapshot.now) return `next at ${times.when(budget.freeAt, snapshot.now)}`;
    return budget.freeAt === undefined && budget.used >= budget.limit ? 'next when one is answered' : '';
  }
}

function budgetRow(budget: BudgetGauge, digits: number, next: string, quota: BudgetGauge | undefined, holds: string | undefined): TableRow {
  const today = quota === undefined ? '' : `${groupedNumber(quota.used)} of ${groupedNumber(quota.limit)} ISBNs today`;
  const arrow = holds === undefined ? '' : `<- ${holds} ${holds === 'everything' ? 'waits' : 'wait'} for this`;
  return {
    name: budgetName(budget),
    share: budget.limit > 0 ? budget.used / budget.limit : 1,
    progress: `${groupedNumber(budget.used).padStart(digits)} / ${groupedNumber(budget.limit)}`,
    amount: next,
    note: [today, arrow].filter((part) => part !== '').join('  '),
    ...(holds === undefined ? {} : { tone: 'wait' as const }),
  };
}

function waits({ gauges, snapshot, times, columns }: LiveFrameOptions): TableLine[] {
  const unavailable = snapshot.logUnavailable;
  const outage = unavailable === undefined ? [] : logUnavailableLines({ unavailable, now: snapshot.now, times, width: columns - 2 });
  const full = fullCredits(gauges).map((credit) => `${credit.service}: ${creditWords(credit)}`);
  const heldBack = snapshot.heldBack.map((lane) => heldBackWords(lane, times.when(lane.since, snapshot.now)));
  const failed = snapshot.failedLanes.map((lane) => toned(`  ${failedLaneWords(lane)}`, 'bad'));
  const lines = [...failed, ...[...outage, ...heldBack, ...full].map((text) => toned(`  ${text}`, 'wait'))];
  const fault = snapshot.lastFault;
  if (fault !== undefined && (snapshot.now - fault.at < recentFaultMs || (fault.retryAt ?? 0) > snapshot.now)) {
    const total = snapshot.faults.reduce((sum, one) => sum + one.count, 0);
    const retry =
      fault.retryAt !== undefined && fault.retryAt > snapshot.now ? `, again at ${times.when(fault.retryAt, snapshot.now)}` : '';
    const said = `${countWords(total, 'fault')}, the last at ${times.time(fault.at)}: ${fault.subject} ${faultName(fault.kind)}${retry}`;
    lines.push(plain(`  ${said}`));
  }
  const hasNone = snapshot.lanes.length === 0;
  if (hasNone && failed.length > 0) return lines;
  if (unavailable === undefined && heldBack.length === 0 && !isBusy(gauges) && snapshot.now - snapshot.lastEventAt > idleMs) {
    lines.push(plain(`  ${hasNone ? noLaneWords(snapshot) : 'nothing left to do: waits for new requests'}`));
  }
  return lines;
}

function deadLetters({ snapshot, readCommand }: LiveFrameOptions): TableLine[] {
  return Object.entries(snapshot.deadLetters.byTopic).map(([topic, count]) =>
    toned(`  ${countWords(count, 'dead letter')}: ${safeText(readCommand(topic))}`, 'bad'),
  );
}

/** The first lines, those that hold everything up before all others. */
function shorten(lines: readonly TableLine[], most: number): readonly TableLine[] {
  if (lines.length <= most) return lines;
  const sorted = lines.toSorted((one, other) => Number(one.tone === undefined) - Number(other.tone === undefined));
  return [...sorted.slice(0, most - 1), plain(`  and ${countWords(lines.length - most + 1, 'more budget')}`)];
}

function plain(text: string): TableLine {
  return { text, toneFrom: text.length };
}

function toned(text: string, tone: Tone): TableLine {
  return { text, toneFrom: 2, tone };
}

function coloured(line: TableLine, color: boolean): string {
  const end = line.text.slice(line.toneFrom);
  if (!color || line.tone === undefined || end === '') return line.text;
  const colours = { good: 'green', wait: 'yellow', bad: 'red' } as const;
  return line.text.slice(0, line.toneFrom) + styleText(colours[line.tone], end, { validateStream: false });
}
