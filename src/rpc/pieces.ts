import { RESULT_HEAD, type RequestId, resultTail } from './envelope.js'
import { isMarked } from './result.js'

/** Text that is complete, or its bytes in UTF-8. */
export type WholePiece = string | Uint8Array

/**
 * Text, or text that is made while it is sent. `return()` closes the source also before the first `next()`.
 */
export type Piece = WholePiece | AsyncIterableIterator<string>

/** True for a text that is complete. */
export function isWhole(piece: Piece): piece is WholePiece {
  return typeof piece === 'string' || piece instanceof Uint8Array
}

/**
 * Makes the text of a result. The first part of a streamed one is read here, so that an early fault is
 * thrown.
 */
export async function resultPiece(result: unknown): Promise<Piece> {
  if (!isMarked(result)) return JSON.stringify(result ?? null)
  if (result.kind === 'rawJson') return result.text
  const source = result.chunks[Symbol.asyncIterator]()
  const first = await source.next()
  return resume(first, source)
}

/**
 * Returns a source that calls `onOver` once: at its end, when it fails, or when it is closed before.
 *
 * @param onOver must not throw
 */
export function whenOver<T>(source: AsyncIterator<T>, onOver: () => void): AsyncIterableIterator<T> {
  let isOver = false
  const end = () => {
    if (isOver) return
    isOver = true
    onOver()
  }
  return {
    async next() {
      try {
        const step = await source.next()
        if (step.done === true) end()
        return step
      } catch (error) {
        end()
        throw error
      }
    },
    async return() {
      try {
        await source.return?.()
      } finally {
        end()
      }
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** Puts a result into its JSON-RPC answer. */
export function enveloped(piece: Piece, id: RequestId): Piece {
  if (typeof piece === 'string') return `${RESULT_HEAD}${piece}${resultTail(id)}`
  if (isWhole(piece)) return bytesOf([RESULT_HEAD, piece, resultTail(id)])
  return concat([RESULT_HEAD, piece, resultTail(id)])
}

/** Joins the answers of a batch to one JSON array. */
export function joined(pieces: Piece[]): Piece {
  if (pieces.every((piece) => typeof piece === 'string')) return `[${pieces.join(',')}]`
  const parts = ['[', ...pieces.flatMap((piece, index) => (index === 0 ? [piece] : [',', piece])), ']']
  return parts.every(isWhole) ? bytesOf(parts) : concat(parts)
}

function bytesOf(parts: readonly WholePiece[]): Uint8Array {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
}

/** Closes a piece that will not be read. */
export async function discard(piece: Piece): Promise<void> {
  if (!isWhole(piece)) await piece.return?.()
}

/**
 * Continues a stream after its first step. Not a generator: `return()` before the first `next()` skips its
 * `finally`.
 */
function resume(first: IteratorResult<string>, source: AsyncIterator<string>): AsyncIterableIterator<string> {
  let pending: IteratorResult<string> | undefined = first
  return {
    async next() {
      const step = pending ?? (await source.next())
      pending = undefined
      return step
    },
    async return() {
      pending = undefined
      await source.return?.()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

function concat(pieces: Piece[]): AsyncIterableIterator<string> {
  let at = 0
  const closeRest = async () => {
    const rest = pieces.slice(at)
    at = pieces.length
    const closed = await Promise.allSettled(rest.map(discard)) // all of them, also when closing one fails
    const failed = closed.find((outcome) => outcome.status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }
  return {
    async next() {
      for (; at < pieces.length; at++) {
        const piece = pieces[at] as Piece
        if (isWhole(piece)) {
          at++
          return { done: false, value: typeof piece === 'string' ? piece : Buffer.from(piece).toString() }
        }
        const step = await piece.next().catch(async (error: unknown) => {
          at++
          await closeRest() // the pieces after it will not be read
          throw error
        })
        if (step.done !== true) return step
      }
      return { done: true, value: undefined }
    },
    async return() {
      await closeRest()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
