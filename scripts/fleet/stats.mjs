/** Buckets of a histogram: each a tenth wider than the one before, from 0.1 ms to some hours. */
const BUCKETS = 200
const FIRST_MS = 0.1
const GROWTH = Math.log(1.1)

/** Times of acknowledgements, by what the gateway was in. */
const ACKS = ['ack', 'slowAck', 'outageAck', 'drainAck']

/** Figures of a process; those of several are added with `addStats`. */
export function createStats() {
  return {
    counts: {
      ...{ joined: 0, rows: 0, bytes: 0, batches: 0, reports: 0, models: 0 },
      ...{ sessions: 0, failedSessions: 0, elsewhere: 0, retries: 0, cuts: 0, restarts: 0, restores: 0 },
      /** rows that gateways had not sent before the run, and that are sent */
      backlogRows: 0,
    },
    /** answers that took nothing, and connections that broke while the link was up: reason → number */
    refused: {},
    /** of gateways on slow links; while rows of an outage are sent; of what is left when the events have ended */
    ...Object.fromEntries(ACKS.map((name) => [name, Array(BUCKETS).fill(0)])),
    /** gateways that came back after an outage or a restart: second of the run → number */
    reconnects: {},
    /** when the last of these rows were sent, ms since the beginning of the run */
    backlogMs: 0,
    /** largest RSS of a process and its longest stop of the event loop */
    rssBytes: 0,
    loopMs: 0,
  }
}

export function noteMs(histogram, ms) {
  const at = Math.ceil(Math.log(Math.max(ms, FIRST_MS) / FIRST_MS) / GROWTH)
  histogram[Math.min(at, BUCKETS - 1)]++
}

/** Upper end of the bucket with a share of all values, ms; null for no values. */
export function quantileMs(histogram, share) {
  const total = histogram.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let seen = 0
  const at = histogram.findIndex((count) => {
    seen += count
    return seen >= share * total
  })
  return Number((FIRST_MS * Math.exp(at * GROWTH)).toPrecision(3))
}

export function noteName(counts, name) {
  counts[name] = (counts[name] ?? 0) + 1
}

/** Adds the figures of another process. */
export function addStats(sum, more) {
  for (const part of ['counts', 'refused', 'reconnects'])
    for (const [name, count] of Object.entries(more[part])) sum[part][name] = (sum[part][name] ?? 0) + count
  for (const part of ACKS) for (const [at, count] of more[part].entries()) sum[part][at] += count
  sum.backlogMs = Math.max(sum.backlogMs, more.backlogMs)
  sum.rssBytes = Math.max(sum.rssBytes, more.rssBytes)
  sum.loopMs = Math.max(sum.loopMs, more.loopMs)
}

/** Figures as they are printed. @param seconds length of the run */
export function summaryOf(stats, seconds) {
  const { counts, refused, reconnects, backlogMs, rssBytes, loopMs } = stats
  const perSecond = (count) => (seconds > 0 ? Number((count / seconds).toPrecision(4)) : 0)
  return {
    ...counts,
    rowsPerSecond: perSecond(counts.rows),
    batchesPerSecond: perSecond(counts.batches),
    backlogSeconds: Number((backlogMs / 1000).toFixed(1)),
    bytesPerRow: counts.rows === 0 ? null : Number((counts.bytes / counts.rows).toFixed(1)),
    ...Object.fromEntries(
      ACKS.map((name) => [
        `${name}Ms`,
        { p50: quantileMs(stats[name], 0.5), p99: quantileMs(stats[name], 0.99) },
      ]),
    ),
    refused,
    /** most gateways that came back within a second, and within a minute */
    herd: mostWithin(reconnects, 1),
    herdOfMinute: mostWithin(reconnects, 60),
    rssMegabytes: Math.round(rssBytes / 1e6),
    loopMs: Math.round(loopMs),
  }
}

/** Most gateways that came back within some seconds. @param reconnects second of the run → gateways */
function mostWithin(reconnects, seconds) {
  const at = Object.entries(reconnects).map(([second, count]) => [Number(second), count])
  const from = (first) => at.filter(([second]) => second >= first && second < first + seconds)
  return Math.max(0, ...at.map(([first]) => from(first).reduce((sum, [, count]) => sum + count, 0)))
}
