import { fileFault } from '../faults.js'

/** Bytes that can be read from the beginning as often as wanted. */
export interface ByteSource {
  /** @param onRead called with the share of the file that has been read, 0 to 1 */
  chunks(onRead?: (share: number) => void): AsyncGenerator<Uint8Array>
}

/** Most bytes that are held in memory: GeoJSON and packed GeoPackages, which cannot be read in pieces. */
export const MAX_WHOLE_BYTES = 200_000_000
/** Most bytes that an archive may unpack to where it is read in pieces. */
export const MAX_UNPACKED_BYTES = 4_000_000_000

/** Bytes of a file as they are. */
export function plainBytes(blob: Blob): ByteSource {
  return {
    async *chunks(onRead) {
      let read = 0
      for await (const chunk of chunksOf(blob.stream())) {
        read += chunk.byteLength
        yield chunk
        onRead?.(read / Math.max(1, blob.size))
      }
    },
  }
}

/**
 * Bytes of packed data.
 *
 * @param form `gzip`, or `deflate-raw` as in ZIP archives
 * @throws FileFault BAD_ARCHIVE, TOO_LARGE while they are read
 */
export function unpackedBytes(
  blob: Blob,
  form: 'gzip' | 'deflate-raw',
  maxBytes = MAX_UNPACKED_BYTES,
): ByteSource {
  return {
    async *chunks(onRead) {
      let [packed, unpacked] = [0, 0]
      const count = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
        transform(chunk, controller) {
          packed += chunk.byteLength
          controller.enqueue(chunk)
        },
      })
      const stream = blob.stream().pipeThrough(count).pipeThrough(new DecompressionStream(form))
      try {
        for await (const chunk of chunksOf(stream)) {
          unpacked += chunk.byteLength
          if (unpacked > maxBytes) throw fileFault('TOO_LARGE', { limit: sizeText(maxBytes) })
          yield chunk
          onRead?.(packed / Math.max(1, blob.size))
        }
      } catch (error) {
        if (!(error instanceof TypeError)) throw error // what the stream throws for damaged data
        throw fileFault('BAD_ARCHIVE', { reason: error.message })
      }
    },
  }
}

/** Reads all bytes of a source. @throws FileFault TOO_LARGE for more than can be held */
export async function wholeBytes(
  source: ByteSource,
  onRead?: (share: number) => void,
  maxBytes = MAX_WHOLE_BYTES,
): Promise<Uint8Array<ArrayBuffer>[]> {
  const parts: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  for await (const chunk of source.chunks(onRead)) {
    size += chunk.byteLength
    if (size > maxBytes) throw fileFault('TOO_LARGE', { limit: sizeText(maxBytes) })
    parts.push(chunk as Uint8Array<ArrayBuffer>)
  }
  return parts
}

/** Chunks of a stream, which is cancelled when they are not read to the end. */
async function* chunksOf(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const reader = stream.getReader()
  let isOver = false
  try {
    for (;;) {
      const { done, value } = await reader.read()
      isOver = done
      if (done) return
      yield value
    }
  } finally {
    // a stream that failed rejects, which has been reported
    if (!isOver) await reader.cancel().catch(() => undefined)
  }
}

function sizeText(bytes: number): string {
  return bytes >= 1e9 ? `${bytes / 1e9} GB` : `${bytes / 1e6} MB`
}
