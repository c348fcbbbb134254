/** Free space at an instant. */
export interface DiskSample {
  /** µs UTC */
  readonly atUs: number
  /** free bytes of the file system, and those within `data.db` that rows can use */
  readonly freeBytes: number
}

/** Change of free space, and the time that it lasts. */
export interface DiskForecast {
  /** bytes per second that are taken; negative where space becomes free */
  readonly bytesPerSecond: number
  /** days until the reserve is reached; null where space does not shrink, or lasts for more than ten years */
  readonly daysLeft: number | null
  /** span of the samples, hours */
  readonly hours: number
}

const HOUR_US = 3_600_000_000
/** Span that tells of today's rate, and the least one. */
const SPAN_US = 24 * HOUR_US
const LEAST_US = HOUR_US
const MOST_DAYS = 3650
const DAY_S = 86_400

/**
 * Returns how long free space lasts at the rate of the last day: the line through its samples with the least squares.
 *
 * @param samples in any order; those of the future, of before a clock was set back, count for nothing
 * @returns undefined for samples of less than an hour
 */
export function forecastDisk(
  samples: readonly DiskSample[],
  now: DiskSample,
  reserveBytes: number,
): DiskForecast | undefined {
  const recent = samples.filter(({ atUs }) => atUs < now.atUs && atUs >= now.atUs - SPAN_US)
  const firstUs = Math.min(now.atUs, ...recent.map(({ atUs }) => atUs))
  if (now.atUs - firstUs < LEAST_US) return undefined
  const points = [...recent, now].map(({ atUs, freeBytes }) => ({ s: (atUs - firstUs) / 1e6, freeBytes }))
  const meanS = points.reduce((sum, { s }) => sum + s, 0) / points.length
  const meanFree = points.reduce((sum, { freeBytes }) => sum + freeBytes, 0) / points.length
  const products = points.reduce((sum, { s, freeBytes }) => sum + (s - meanS) * (freeBytes - meanFree), 0)
  const squares = points.reduce((sum, { s }) => sum + (s - meanS) ** 2, 0)
  const bytesPerSecond = -products / squares
  const left = Math.max(0, now.freeBytes - reserveBytes) / bytesPerSecond / DAY_S
  const daysLeft = bytesPerSecond <= 0 || left > MOST_DAYS ? null : left
  return { bytesPerSecond, daysLeft, hours: (now.atUs - firstUs) / HOUR_US }
}

/** Returns a sentence about how long the disk lasts. */
export function forecastText({ bytesPerSecond, daysLeft, hours }: DiskForecast): string {
  const span = `the rate of the last ${Math.round(hours)} h`
  if (daysLeft === null) return `at ${span} it lasts for years`
  const days = daysLeft < 10 ? daysLeft.toFixed(1) : Math.floor(daysLeft)
  return `at ${span} (${((bytesPerSecond * DAY_S) / 1e6).toFixed(1)} MB a day) it lasts ${days} days`
}
