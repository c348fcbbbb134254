// The sender of an attack: requests and raw sockets from an address of its own, each outcome counted.
import http from 'node:http'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * @param facts { port, headers, localAddress } of the gateway, the attacker's key and its address; the honest
 *   client's address is 127.0.0.1
 * @returns { post, get, call, socket, loop, counts } for attacks
 */
export function createClient({ port, headers, localAddress }) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 2000, localAddress })
  const counts = {}
  const count = (name) => {
    counts[name] = (counts[name] ?? 0) + 1
  }

  /** Sends one request and reads its answer to the end. @returns { status, text } */
  function send({ method = 'POST', path, body, own = headers, hangUpMs }) {
    return new Promise((resolve) => {
      const settle = (name, answer = { status: 0, text: '' }) => {
        count(name)
        resolve(answer)
      }
      const request = http.request({
        agent,
        host: '127.0.0.1',
        port,
        method,
        path,
        headers: own,
        localAddress,
      })
      if (hangUpMs !== undefined) setTimeout(() => request.destroy(), hangUpMs)
      request.once('error', (error) => settle(error.code ?? 'cut'))
      request.once('response', (response) => {
        let text = ''
        let bytes = 0
        response.on('data', (chunk) => {
          bytes += chunk.length
          if (text.length < 2000) text += chunk.toString('utf8', 0, 2000)
        })
        response.once('error', () => settle('cut'))
        response.once('end', () =>
          settle(outcomeOf(response.statusCode, text), { status: response.statusCode, text, bytes }),
        )
      })
      request.end(body)
    })
  }

  return {
    port,
    headers,
    counts,
    count,
    send,
    get: (path, own) => send({ method: 'GET', path, own }),
    call: (path, method, params, more) =>
      send({ path, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), ...more }),
    /** Opens a raw connection; its end and its errors are counted, not thrown. */
    socket(onOpen) {
      const socket = net.connect({ host: '127.0.0.1', port, localAddress }, () => onOpen?.(socket))
      socket.once('error', (error) => count(error.code ?? 'cut'))
      socket.once('close', () => count('closed by the gateway'))
      return socket
    },
    /** Runs `work` in `width` loops for ever; one that is refused waits a moment, as an attacker would. */
    loop: (width, work) =>
      Promise.all(
        Array.from({ length: width }, async (_, i) => {
          for (;;) {
            const answer = await work(i)
            if (answer?.status === 0 || answer?.status === 429 || answer?.status === 503) await sleep(20)
          }
        }),
      ),
  }
}

/** Returns the status, with the name of a JSON-RPC error. */
function outcomeOf(status, text) {
  const name = /"error":\{"code":-?\d+,.*?"name":"(\w+)"/s.exec(text)?.[1]
  return name === undefined ? `${status}` : `${status} ${name}`
}
