// A client of one kept connection, for benches whose clients share the cores with the gateway: it takes a fraction
// of the processor time of `node:http`, and reads whole answers all the same.
import net from 'node:net'

const HEAD_END = '\r\n\r\n'
const CHUNKS_END = '\r\n0\r\n\r\n'

/**
 * Opens a connection that posts one body after another.
 *
 * @returns { post(body), close() }; `post` resolves with { status, text } when the whole answer was read
 */
export function openClient({ host = '127.0.0.1', port, path, headers }) {
  const lines = Object.entries({ Host: `${host}:${port}`, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  const head = `POST ${path} HTTP/1.1\r\n${lines.join('')}Content-Length: `
  const socket = net.connect({ host, port, noDelay: true })
  let chunks = []
  let waiting
  const fail = (error) => {
    waiting?.reject(error)
    waiting = undefined
  }
  socket.on('data', (chunk) => {
    chunks.push(chunk)
    try {
      const answer = answerIn(chunks)
      if (answer === undefined) return
      chunks = []
      waiting.resolve(answer)
    } catch (error) {
      fail(error)
      socket.destroy()
    }
  })
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('the gateway closed the connection')))
  return {
    post: (body) =>
      new Promise((resolve, reject) => {
        waiting = { resolve, reject }
        socket.write(`${head}${Buffer.byteLength(body)}${HEAD_END}${body}`)
      }),
    close: () => socket.destroy(),
  }
}

/** @returns { status, text }; undefined while a part is missing */
function answerIn(chunks) {
  const [first] = chunks
  const headEnd = first.indexOf(HEAD_END)
  if (headEnd < 0) throw new Error('the head of an answer came in parts')
  const head = first.latin1Slice(0, headEnd)
  const status = Number(head.slice(9, 12))
  const begin = headEnd + HEAD_END.length
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
  const size = chunks.reduce((sum, chunk) => sum + chunk.length, 0) - begin
  if (length !== undefined) {
    if (size < Number(length)) return undefined
    const all = chunks.length === 1 ? first : Buffer.concat(chunks)
    return { status, text: all.toString('utf8', begin) }
  }
  if (!/\r\ntransfer-encoding: chunked/i.test(head)) throw new Error(`an answer without a length: ${head}`)
  // JSON has no line ends of its own, so that these are those of the last chunk, which is empty
  const end = Buffer.concat(chunks.slice(-2)).subarray(-CHUNKS_END.length).toString('latin1')
  if (size === 0 || end !== CHUNKS_END) return undefined
  return { status, text: unchunked(Buffer.concat(chunks).subarray(begin)).toString('utf8') }
}

function unchunked(bytes) {
  const parts = []
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    const size = Number.parseInt(bytes.latin1Slice(at, lineEnd), 16)
    if (size === 0) return Buffer.concat(parts)
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + 2
  }
}
