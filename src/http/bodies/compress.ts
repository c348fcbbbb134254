import type { Transform } from 'node:stream'
import { promisify } from 'node:util'
import { constants, createGzip, createZstdCompress, gzip, zstdCompress } from 'node:zlib'

/** Content codings in which answers are sent. */
export type Coding = 'zstd' | 'gzip'

/** Compressor of a body that is made while it is sent. */
export interface Compressor {
  /** Takes the next bytes. @returns what is to be sent now: often nothing before the last bytes */
  push(bytes: Uint8Array, isLast: boolean): Promise<Uint8Array>
  /** Gives the memory back; more than once does nothing. */
  stop(): void
}

/** Compression that a caller asks for. */
export interface Compression {
  readonly coding: Coding
  /** Compresses a whole body on a thread of Node. @returns undefined while too many are compressed */
  whole(bytes: Uint8Array): Promise<Uint8Array> | undefined
  /** Begins a body in parts. @returns undefined while too many are compressed */
  begin(): Compressor | undefined
}

/** Compressions of a gateway, which share a limit. */
export interface Compressions {
  /** Returns what the header Accept-Encoding of a request asks for; undefined for none that is known. */
  asked(header: string | undefined): Compression | undefined
}

/** Level of gzip: beyond 3 an answer takes twice as long for a twentieth less. */
const GZIP = { level: 3 }
/** A window of 128 kB: more would need megabytes for each answer. */
const ZSTD = {
  params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_windowLog]: 17 },
}

const gzipWhole = promisify(gzip) as (bytes: Uint8Array, options: typeof GZIP) => Promise<Uint8Array>
const zstdWhole = promisify(zstdCompress) as (bytes: Uint8Array, options: typeof ZSTD) => Promise<Uint8Array>

/**
 * Makes the compressions of a gateway. An answer beyond the limit is sent as it is, which every client reads.
 *
 * @param maxOpen `limits.compressedAnswers`: each takes up to half a megabyte
 */
export function createCompressions(maxOpen: number): Compressions {
  let open = 0
  /** @returns a function that gives the place back, once */
  const take = (): (() => void) | undefined => {
    if (open >= maxOpen) return undefined
    open++
    let isTaken = true
    return () => {
      if (isTaken) open--
      isTaken = false
    }
  }
  return {
    asked(header) {
      const coding = maxOpen === 0 ? undefined : codingOf(header)
      if (coding === undefined) return undefined
      return {
        coding,
        whole(bytes) {
          const release = take()
          if (release === undefined) return undefined
          const work = coding === 'gzip' ? gzipWhole(bytes, GZIP) : zstdWhole(bytes, ZSTD)
          return work.finally(release)
        },
        begin() {
          const release = take()
          return release && createCompressor(coding, release)
        },
      }
    },
  }
}

/**
 * Returns the coding with the larger weight, zstd where both have the same: it costs half as much.
 *
 * @see RFC 9110, section 12.5.3
 */
function codingOf(header: string | undefined): Coding | undefined {
  if (header === undefined) return undefined
  const weights = new Map<string, number>()
  for (const part of header.split(',')) {
    const [name = '', ...params] = part.split(';').map((text) => text.trim().toLowerCase())
    const weight = params.find((param) => param.startsWith('q='))?.slice(2) ?? '1'
    weights.set(name === 'x-gzip' ? 'gzip' : name, Number(weight))
  }
  const weightOf = (coding: Coding) => weights.get(coding) ?? weights.get('*') ?? 0
  const [zstd, zip] = [weightOf('zstd'), weightOf('gzip')]
  if (!(zstd > 0) && !(zip > 0)) return undefined
  return zip > zstd || !(zstd > 0) ? 'gzip' : 'zstd'
}

function createCompressor(coding: Coding, release: () => void): Compressor {
  const stream: Transform = coding === 'gzip' ? createGzip(GZIP) : createZstdCompress(ZSTD)
  let made: Uint8Array[] = []
  let fault: Error | undefined
  const ended = new Promise<void>((resolve) => {
    stream.on('data', (bytes: Uint8Array) => made.push(bytes))
    stream.once('close', resolve)
    stream.once('error', (error) => {
      fault = error
    })
  })
  const written = (bytes: Uint8Array) => new Promise<void>((resolve) => stream.write(bytes, () => resolve()))
  return {
    async push(bytes, isLast) {
      if (bytes.length > 0) await written(bytes)
      if (isLast) {
        stream.end()
        await ended
        release()
      }
      if (fault !== undefined) throw fault
      const all = made.length === 1 ? (made[0] as Uint8Array) : Buffer.concat(made)
      made = []
      return all
    },
    stop() {
      stream.destroy()
      release()
    },
  }
}
