// A load of keep-alive connections from this process: for figures, not for truth about the network.
import http from 'node:http'

/**
 * Runs `clients` loops against `url` for `seconds`, each sending the next request when the answer is read.
 *
 * @param next (i) → { path, headers, body }
 * @returns { calls, perS, p50Ms, p99Ms, maxMs, failures } of calls; a failure is a status other than 200 or
 *   204
 */
export async function load({ host = '127.0.0.1', port, clients, seconds, next }) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: clients })
  const endAt = performance.now() + seconds * 1000
  const took = []
  let failures = 0
  let sent = 0
  const loop = async () => {
    while (performance.now() < endAt) {
      const startedAt = performance.now()
      const status = await post({ agent, host, port, ...next(sent++) })
      took.push(performance.now() - startedAt)
      if (status !== 200 && status !== 204) failures++
    }
  }
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: clients }, loop))
  const elapsedS = (performance.now() - startedAt) / 1000
  agent.destroy()
  return { calls: took.length, perS: took.length / elapsedS, failures, ...spread(took) }
}

/** Median, 95th and 99th percentile and maximum of durations. */
export function spread(values) {
  const sorted = Float64Array.from(values).sort()
  const at = (q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN
  return { p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99), maxMs: at(1) }
}

/** One request; resolves with the status when the whole answer was read. */
export function post({ agent, host, port, path, method = 'POST', headers, body, onBody }) {
  return new Promise((resolve, reject) => {
    const request = http.request({ agent, host, port, path, method, headers }, (response) => {
      const chunks = []
      response.on('data', (chunk) => (onBody === undefined ? undefined : chunks.push(chunk)))
      response.on('end', () => {
        onBody?.(Buffer.concat(chunks).toString('utf8'))
        resolve(response.statusCode)
      })
      response.on('error', reject)
    })
    request.on('error', reject)
    request.end(body)
  })
}
