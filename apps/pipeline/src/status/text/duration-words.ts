const units = [
  { name: 'd', seconds: 86_400 },
  { name: 'h', seconds: 3_600 },
  { name: 'm', seconds: 60 },
  { name: 's', seconds: 1 },
] as const;

/** A duration (ms) in at most two units: `350 ms`, `2.4 s`, `2 m 14 s`, `4 h 3 m`, `2 d`. */
export function durationWords(durationMs: number): string {
  if (!Number.isFinite(durationMs)) return '?';
  const ms = Math.max(0, Math.round(durationMs));
  if (ms < 1000) return `${ms} ms`;
  if (ms < 9_950) return `${Number((ms / 1000).toFixed(1))} s`;
  const seconds = Math.round(ms / 1000);
  const largest = units.findIndex((unit) => seconds >= unit.seconds);
  let rest = seconds;
  const words: string[] = [];
  for (const unit of units.slice(largest, largest + 2)) {
    const count = Math.floor(rest / unit.seconds);
    rest -= count * unit.seconds;
    if (count > 0) words.push(`${count} ${unit.name}`);
  }
  return words.join(' ');
}

/** A duration (ms) as a clock: `00:14:32`. Hours can exceed 99. */
export function elapsedWords(durationMs: number): string {
  const seconds = Number.isFinite(durationMs) ? Math.max(0, Math.floor(durationMs / 1000)) : 0;
  return [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60].map((part) => String(part).padStart(2, '0')).join(':');
}
