/** Decides which of many log lines are written, so that strangers cannot fill a disk with them. */
export interface LineSampler<Kind extends string> {
  /** true when a line of this kind may be written now; otherwise it is counted */
  allows(kind: Kind): boolean
  /** reports what was left out so far, and stops */
  stop(): void
}

interface SamplerOptions<Kind extends string> {
  /** lines of each kind in a minute */
  readonly perMinute: number
  /** receives the number of lines that were left out in a minute, at its end */
  onLeftOut(kind: Kind, count: number): void
}

const MINUTE_MS = 60_000

/** Makes a sampler. A minute begins with the first line of its kind; a quiet gateway runs no timer. */
export function createLineSampler<Kind extends string>({
  perMinute,
  onLeftOut,
}: SamplerOptions<Kind>): LineSampler<Kind> {
  const minutes = new Map<Kind, { count: number; timer: NodeJS.Timeout }>()
  const end = (kind: Kind) => {
    const minute = minutes.get(kind)
    if (minute === undefined) return
    minutes.delete(kind)
    clearTimeout(minute.timer)
    if (minute.count > perMinute) onLeftOut(kind, minute.count - perMinute)
  }
  return {
    allows(kind) {
      let minute = minutes.get(kind)
      if (minute === undefined) {
        minute = { count: 0, timer: setTimeout(() => end(kind), MINUTE_MS).unref() }
        minutes.set(kind, minute)
      }
      minute.count++
      return minute.count <= perMinute
    },
    stop() {
      for (const kind of [...minutes.keys()]) end(kind)
    },
  }
}
