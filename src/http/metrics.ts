import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { ErrorName } from '../errors.js'

/** How a call ended: a name of the table of errors, or the HTTP status of what is no JSON-RPC. */
export type Outcome = 'ok' | ErrorName | `HTTP_${number}`

/** Counts what goes through the transport; each count costs about a microsecond. */
export interface Meter {
  /**
   * One call was answered, each item of a batch by itself.
   *
   * @param method a name out of a bounded set, never one that a caller made up
   * @param ms until the answer began: a streamed one goes on
   */
  call(method: string, outcome: Outcome, ms: number): void
  /** one HTTP request was answered */
  response(status: number): void
  signInFailed(): void
}

/** One family of the page that is read when the page is asked for. */
export interface Family {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge'
  readonly samples: readonly { readonly labels?: Record<string, string>; readonly value: number }[]
}

export interface Metrics extends Meter {
  readonly contentType: string
  /** the page in the text format of Prometheus */
  page(): Promise<string>
}

/** Upper bounds of the latency buckets, seconds: from a call out of memory to the longest search. */
const BUCKETS_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30]

/**
 * Counters of the transport, and what `readFamilies` tells at the moment.
 *
 * @see https://prometheus.io/docs/instrumenting/exposition_formats/
 */
export function createMetrics(readFamilies: () => Promise<readonly Family[]>): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const calls = new Counter({
    name: 'fieldgate_calls_total',
    help: 'Calls by method and outcome; methods that do not exist count as unknown',
    labelNames: ['method', 'outcome'],
    registers,
  })
  const durations = new Histogram({
    name: 'fieldgate_call_duration_seconds',
    help: 'Time until the answer of a call began',
    labelNames: ['method'],
    buckets: BUCKETS_S,
    registers,
  })
  const responses = new Counter({
    name: 'fieldgate_http_responses_total',
    help: 'HTTP responses by status',
    labelNames: ['status'],
    registers,
  })
  const signInFailures = new Counter({
    name: 'fieldgate_sign_in_failures_total',
    help: 'Requests with missing or wrong credentials',
    registers,
  })
  let running: Promise<string> | undefined
  const page = async () => {
    const sampled = await registryOf(await readFamilies())
    return await Registry.merge([registry, sampled]).metrics()
  }
  return {
    contentType: registry.contentType,
    call(method, outcome, ms) {
      calls.inc({ method, outcome })
      durations.observe({ method }, ms / 1000)
    },
    response: (status) => responses.inc({ status }),
    signInFailed: () => signInFailures.inc(),
    page() {
      // scrapes at the same time share one reading
      running ??= page().finally(() => {
        running = undefined
      })
      return running
    },
  }
}

/** Made anew for each page, so that a map that went away is not told of any more. */
function registryOf(families: readonly Family[]): Registry {
  const registry = new Registry()
  for (const { name, help, type, samples } of families) {
    const labelNames = Object.keys(samples[0]?.labels ?? {})
    const options = { name, help, labelNames, registers: [registry] }
    const family = type === 'gauge' ? new Gauge(options) : new Counter(options)
    for (const { labels = {}, value } of samples) family.inc(labels, value)
  }
  return registry
}
