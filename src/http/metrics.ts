import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { ErrorName } from '../errors.js'

/** Outcome of a call: a name of the table of errors, or the HTTP status of what is no JSON-RPC. */
export type Outcome = 'ok' | ErrorName | `HTTP_${number}`

/** Counters of the transport. One count takes about 1 µs. */
export interface Meter {
  /**
   * Counts an answered call; each item of a batch is one.
   *
   * @param method one of a bounded set of names, never a text of the caller
   * @param ms time until the answer began
   */
  call(method: string, outcome: Outcome, ms: number): void
  /** counts an answered HTTP request */
  response(status: number): void
  signInFailed(): void
}

/** A family that is sampled at each scrape. */
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

/** Upper bounds of the latency buckets, s: from a call that reads memory alone to the longest search. */
const BUCKETS_S = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30]

/**
 * Makes the counters of the transport and the page of them and of the sampled families.
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
      // scrapes at the same time share one page
      running ??= page().finally(() => {
        running = undefined
      })
      return running
    },
  }
}

/** Makes a registry for one page, so that labels that no longer exist, such as a removed map, disappear. */
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
