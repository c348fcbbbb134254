import { createReadStream, statSync } from 'node:fs'
import type { TextOut } from '../io.js'
import { createProgress } from '../progress.js'
import { sizeText } from './model-data.js'

/** Bytes of a file, with a progress bar while they are read. */
export async function* readWithProgress(file: string, out: TextOut): AsyncGenerator<Uint8Array> {
  const { size } = statSync(file)
  const progress = createProgress(out)
  let bytes = 0
  try {
    for await (const chunk of createReadStream(file) as AsyncIterable<Uint8Array>) {
      bytes += chunk.byteLength
      progress.show(bytes / Math.max(bytes, size), `${sizeText(bytes)} of ${sizeText(size)}`)
      yield chunk
    }
  } finally {
    progress.clear()
  }
}
