import net from 'node:net'

/** Most bytes in transit in one direction. */
const MAX_QUEUED_BYTES = 256 * 1024

/**
 * A bad link: a TCP proxy that cuts each connection after a random number of bytes in either direction, adds
 * latency, and stops for seconds now and then. Bytes are counted as they cross the link; what it had taken in
 * but not yet carried when it cuts was never on the wire.
 *
 * @param options.target port that it leads to
 * @param options.cutBytes [least, most] bytes that a connection carries
 * @param options.latencyMs one way
 * @param options.stallEvery a stop at each so many connections, 0 for none
 */
export async function startProxy({ target, cutBytes, latencyMs = 0, stallEvery = 0, stallMs = 0, random }) {
  const counts = { connections: 0, up: 0, down: 0 }
  const open = new Set()
  const server = net.createServer({ pauseOnConnect: true }, (client) => {
    counts.connections++
    const upstream = net.connect(target, '127.0.0.1')
    const link = { left: Math.round(cutBytes[0] + random() * (cutBytes[1] - cutBytes[0])), isCut: false }
    const cut = () => {
      if (link.isCut) return
      link.isCut = true
      open.delete(client)
      client.destroy()
      // what has crossed arrives; then the connection is gone
      upstream.end(() => setTimeout(() => upstream.destroy(), 50))
    }
    open.add(client)
    for (const socket of [client, upstream]) socket.on('error', cut).on('close', cut).setNoDelay(true)
    const stallAt = stallEvery > 0 && counts.connections % stallEvery === 0 ? link.left / 2 : -1
    carry(client, upstream, 'up')
    carry(upstream, client, 'down')
    client.resume()

    /** Pieces travel in order, each late by the latency; the last one only as far as the link holds. */
    function carry(from, to, direction) {
      let last = Promise.resolve()
      let queuedBytes = 0
      from.on('data', (chunk) => {
        queuedBytes += chunk.length
        if (queuedBytes > MAX_QUEUED_BYTES) from.pause()
        const dueMs = performance.now() + latencyMs
        last = last.then(async () => {
          await wait(dueMs - performance.now())
          if (link.isCut) return
          if (stallAt >= 0 && stallAt > link.left - chunk.length && !link.hasStalled) {
            link.hasStalled = true
            await wait(stallMs)
          }
          const piece = chunk.subarray(0, Math.max(0, link.left))
          link.left -= piece.length
          counts[direction] += piece.length
          if (!to.destroyed && piece.length > 0) to.write(piece)
          queuedBytes -= chunk.length
          if (link.left <= 0) cut()
          else if (queuedBytes < MAX_QUEUED_BYTES) from.resume()
        })
      })
      from.on('end', () => last.then(() => to.end()))
    }
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: server.address().port,
    counts,
    close() {
      for (const socket of open) socket.destroy()
      server.close()
    },
  }
}

function wait(ms) {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)))
}
