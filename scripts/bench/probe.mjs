// A process of its own that calls /healthz on the beat: how long the gateway's main thread keeps small calls
// waiting.
import http from 'node:http'

const EVERY_MS = 10
const port = Number(process.argv[2])
const agent = new http.Agent({ keepAlive: true })
let took = []
let failures = 0

function probe() {
  const startedAt = performance.now()
  const request = http.get({ agent, host: '127.0.0.1', port, path: '/healthz' }, (response) => {
    response.resume().once('end', () => took.push(performance.now() - startedAt))
  })
  request.once('error', () => {
    failures++
  })
}

setInterval(probe, EVERY_MS)
process.on('message', () => {
  process.send({ took, failures })
  took = []
  failures = 0
})
process.on('disconnect', () => process.exit())
