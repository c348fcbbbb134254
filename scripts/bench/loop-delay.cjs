// Loaded into a gateway with --require: writes to a file, when asked by a signal, how late its main thread's timers were.
const { isMainThread } = require('node:worker_threads')
const { monitorEventLoopDelay } = require('node:perf_hooks')
const { writeFileSync } = require('node:fs')

const RESOLUTION_MS = 5

/** `SIGUSR2` writes the delays since the last one, and begins anew. */
if (isMainThread && process.env.BENCH_LOOP_DELAY_FILE !== undefined && process.argv.includes('serve')) {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  histogram.enable()
  process.on('SIGUSR2', () => {
    // the histogram holds times between two ticks, which are a resolution apart when nothing is late
    const at = (share) => Math.max(0, histogram.percentile(share) / 1e6 - RESOLUTION_MS)
    const figures = { p50Ms: at(50), p99Ms: at(99), maxMs: Math.max(0, histogram.max / 1e6 - RESOLUTION_MS) }
    writeFileSync(process.env.BENCH_LOOP_DELAY_FILE, JSON.stringify(figures))
    histogram.reset()
  })
}
