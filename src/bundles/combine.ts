import { type FileHandle, open } from 'node:fs/promises'
import { writeEnvelopes } from './bundle-file.js'
import { type EnvelopeSpan, findEnvelopes } from './seal/open.js'

const READ_BYTES = 256 * 1024

/**
 * Copies the bundles of several files into one, as a courier does who has no keys.
 *
 * @returns their number
 * @throws Error for a file that is torn or none of bundles: nothing is written
 */
export async function combineBundles(file: string, from: readonly string[]): Promise<number> {
  const opened: { handle: FileHandle; spans: readonly EnvelopeSpan[] }[] = []
  try {
    for (const name of from) {
      const handle = await open(name, 'r')
      opened.push({ handle, spans: [] })
      opened.splice(-1, 1, { handle, spans: await findEnvelopes(handle) })
    }
    const all = opened.flatMap(({ handle, spans }) => spans.map((span) => ({ handle, span })))
    return await writeEnvelopes(file, all.length, async (writer) => {
      for (const { handle, span } of all) await writer.add(piecesOf(handle, span))
      return all.length
    })
  } finally {
    for (const { handle } of opened) await handle.close()
  }
}

async function* piecesOf(handle: FileHandle, { start, bytes }: EnvelopeSpan): AsyncGenerator<Uint8Array> {
  for (let done = 0; done < bytes; ) {
    const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, bytes - done))
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, start + done)
    if (bytesRead === 0) throw new Error('a file was cut off while it was copied: copy it again')
    done += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}
