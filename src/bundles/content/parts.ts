import { describeFound } from '../../messages/fault-text.js'
import { bad } from '../seal/open.js'

/*
 * Text of a bundle: parts, each a line of JSON and then as many bytes as its member `bytes` says.
 *
 *     {"part":"bundle",…,"bytes":0}       which bundle it is, from whom and for whom; first, once
 *     {"part":"received",…,"bytes":n}     how far the sender has the feeds and models of the receiver
 *     {"part":"feed",…,"bytes":0}         offer of a table, as `sync.offer_table` takes it
 *     {"part":"batch",…,"bytes":n}        a batch of the feed or answer before it, as it goes over the network
 *     {"part":"given",…,"bytes":0}        answer about a table, as `sync.ask_table` gives it; its batches follow
 *     {"part":"aside",…,"bytes":0}        row of the feed before it that no batch holds
 *     {"part":"citation",…,"bytes":0}     offer of a citation, as `sync.offer_citation` takes it
 *     {"part":"rows",…,"bytes":n}         rows of the citation before it, as they go over the network
 *     {"part":"model",…,"bytes":n}        a model with its facts, then its bytes
 *     {"part":"aggregated",…,"bytes":n}   the newest aggregated model of a store that the receiver wishes
 *     {"part":"end","bytes":0}            last, once
 */

/** Most bytes of the line of a part. */
export const MAX_LINE_BYTES = 4 * 1024 * 1024

/** A part of a bundle. */
export interface Part {
  readonly head: Readonly<Record<string, unknown>>
  readonly bytes: number
  /** Yields the bytes. To be read before the next part; what is not read is passed over. */
  body(): AsyncGenerator<Uint8Array>
}

/** Returns the line of a part. */
export function partLine(part: string, members: object, bytes = 0): Buffer {
  return Buffer.from(`${JSON.stringify({ part, ...members, bytes })}\n`, 'utf8')
}

/**
 * Reads the parts of a text. Memory: a line and a piece of the text.
 *
 * @throws Error for a text of another form, and what `text` throws
 */
export async function* readParts(text: AsyncGenerator<Uint8Array>): AsyncGenerator<Part> {
  const source = createSource(text)
  try {
    for (;;) {
      const head = parseHead(await source.line())
      let left = Number(head.bytes)
      const body = async function* () {
        while (left > 0) {
          const piece = await source.piece(left)
          left -= piece.byteLength
          yield piece
        }
      }
      if (head.part === 'end') {
        if (!(await source.isAtEnd())) throw bad('found bytes after its last part')
        return
      }
      yield { head, bytes: left, body }
      while (left > 0) left -= (await source.piece(left)).byteLength
    }
  } finally {
    await text.return(undefined)
  }
}

/**
 * Returns the bytes of a part.
 *
 * @throws Error for more than `maxBytes`
 */
export async function bodyOf(part: Part, maxBytes: number): Promise<Buffer> {
  if (part.bytes > maxBytes)
    throw bad(`found ${part.bytes} bytes in a part ${String(part.head.part)}, expected at most ${maxBytes}`)
  const pieces: Uint8Array[] = []
  for await (const piece of part.body()) pieces.push(piece)
  return Buffer.concat(pieces)
}

function parseHead(line: Buffer): Record<string, unknown> {
  let json: unknown
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(line))
  } catch {
    throw bad('found a part whose line is no JSON')
  }
  const head = typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {}
  if (typeof head.part !== 'string') throw bad(`part: found ${describeFound(head.part)}, expected a name`)
  if (!Number.isSafeInteger(head.bytes) || Number(head.bytes) < 0)
    throw bad(`bytes: found ${describeFound(head.bytes)}, expected a whole number, 0 or more`)
  return head
}

/** Reads lines and pieces of a text. */
function createSource(text: AsyncGenerator<Uint8Array>) {
  let held: Buffer = Buffer.alloc(0)
  const more = async (): Promise<boolean> => {
    const { value, done } = await text.next()
    if (done === true) return false
    held = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    return true
  }
  const fill = async (): Promise<boolean> => held.length > 0 || (await more())
  return {
    async line(): Promise<Buffer> {
      const pieces: Buffer[] = []
      let bytes = 0
      while (await fill()) {
        const end = held.indexOf(10)
        const piece = end < 0 ? held : held.subarray(0, end)
        held = end < 0 ? Buffer.alloc(0) : held.subarray(end + 1)
        pieces.push(piece)
        bytes += piece.length
        if (bytes > MAX_LINE_BYTES) throw bad(`found a part whose line has more than ${MAX_LINE_BYTES} bytes`)
        if (end >= 0) return Buffer.concat(pieces)
      }
      throw bad('found its end before its last part')
    },
    async piece(atMost: number): Promise<Buffer> {
      if (!(await fill())) throw bad('found its end within a part')
      const piece = held.subarray(0, atMost)
      held = held.subarray(piece.length)
      return piece
    },
    isAtEnd: async () => !(await fill()),
  }
}
