/** A line of the table. */
export interface Row {
  readonly part: 'processor' | 'disk' | 'start' | 'memory' | 'calls' | 'rows' | 'routes'
  readonly what: string
  readonly value: string
}

/** Median and 95th percentile of durations, as text. @param ms at least one */
export function spreadText(ms: readonly number[]): string {
  const sorted = ms.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
  return `${figure(at(0.5))}, p95 ${figure(at(0.95))}`
}

/** A figure with three digits that count. */
export function figure(value: number): string {
  if (value >= 100) return value.toFixed(0)
  return value >= 10 ? value.toFixed(1) : value.toFixed(2)
}
