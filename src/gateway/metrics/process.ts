import { readdir } from 'node:fs/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Family } from '../../http/metrics.js'
import { counter, gauge, labelled } from './family.js'

/**
 * Period of the timer that the event loop's delay is measured with. Each beat wakes the processor, for some
 * 0.1 ms on a virtual machine.
 */
const LOOP_PERIOD_MS = 250
/** Time between two looks at how busy the loop was, ms. */
const LOOK_MS = 5000
/** Share of a look that the loop worked, above which its delay is measured. Less hides at most 100 ms. */
const BUSY_SHARE = 0.02

/** Reads memory, CPU time and open files of this process. */
export async function processFamilies(): Promise<Family[]> {
  const { rss, heapUsed, external } = process.memoryUsage()
  const { user, system } = process.cpuUsage()
  const openFds = (await readdir('/proc/self/fd').catch(() => [])).length // some sandboxes have no /proc
  return [
    gauge('process_resident_memory_bytes', 'Resident memory', rss),
    gauge('process_heap_bytes', 'JavaScript heap in use by the main thread', heapUsed),
    gauge('process_external_bytes', 'Buffers outside that heap', external),
    gauge('process_open_fds', 'Open file descriptors', openFds),
    gauge('process_start_time_seconds', 'Start, seconds since 1970', performance.timeOrigin / 1000),
    counter('process_cpu_seconds_total', 'Processor time of all threads', (user + system) / 1e6),
  ]
}

interface LoopDelay {
  /** delay since the last reading; a reading resets it */
  families(): Family[]
  stop(): void
}

type Histogram = Pick<
  ReturnType<typeof monitorEventLoopDelay>,
  'enable' | 'disable' | 'reset' | 'percentile' | 'max'
>

/** What the delay is measured with. */
export interface LoopProbe {
  /** a histogram that has not begun */
  monitor(): Histogram
  /** share of the time since the last call that the loop worked */
  busyShare(): number
}

/** Quantile → delay, s. */
type Delays = Record<'0.5' | '0.99' | '1', number>

const NO_DELAY: Delays = { '0.5': 0, '0.99': 0, '1': 0 }

/**
 * Starts to measure how late timers of the main thread fire. It stops while the loop is idle, and begins again within
 * 5 s of work: a block that begins while the loop is idle is not measured. Of several stretches of work between two
 * readings the longest delays count.
 */
export function createLoopDelay(probe: LoopProbe = nodeProbe()): LoopDelay {
  let kept = NO_DELAY
  let running: Histogram | undefined = started(probe)
  const look = () => {
    if (probe.busyShare() > BUSY_SHARE) running ??= started(probe)
    else if (running !== undefined) {
      kept = longer(kept, delaysOf(running))
      running.disable()
      // one that goes on would count the idle time as one delay
      running = undefined
    }
  }
  const timer = setInterval(look, LOOK_MS).unref()
  return {
    families() {
      const values = running === undefined ? kept : longer(kept, delaysOf(running))
      kept = NO_DELAY
      running?.reset()
      const facts = {
        name: 'fieldgate_event_loop_delay_seconds',
        help: 'Delay of the main thread while it worked, since the last scrape',
        type: 'gauge',
      } as const
      return [labelled(facts, 'quantile', values)]
    },
    stop() {
      clearInterval(timer)
      running?.disable()
    },
  }
}

function nodeProbe(): LoopProbe {
  let before = performance.eventLoopUtilization()
  return {
    monitor: () => monitorEventLoopDelay({ resolution: LOOP_PERIOD_MS }),
    busyShare() {
      const now = performance.eventLoopUtilization()
      const { utilization } = performance.eventLoopUtilization(now, before)
      before = now
      return utilization
    },
  }
}

function started(probe: LoopProbe): Histogram {
  const histogram = probe.monitor()
  histogram.enable()
  return histogram
}

/** The histogram holds whole periods from beat to beat. */
function delaysOf(histogram: Histogram): Delays {
  const seconds = (ns: number) => Math.max(0, ns / 1e9 - LOOP_PERIOD_MS / 1000)
  return {
    '0.5': seconds(histogram.percentile(50)),
    '0.99': seconds(histogram.percentile(99)),
    '1': seconds(histogram.max),
  }
}

function longer(a: Delays, b: Delays): Delays {
  return {
    '0.5': Math.max(a['0.5'], b['0.5']),
    '0.99': Math.max(a['0.99'], b['0.99']),
    '1': Math.max(a['1'], b['1']),
  }
}
