import { createReadStream } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import path from 'node:path'
import { createGunzip } from 'node:zlib'

/** Bounds of what an archive may become. */
interface UnpackLimits {
  readonly maxFiles: number
  readonly maxBytes: number
  /** called before a write; throws AppError DISK_FULL */
  requireSpace(bytes: number): Promise<void>
}

const BLOCK = 512
/** Headers before an entry: facts of pax for the next one and for all, long name of GNU tar. */
const BEFORE = ['x', 'g', 'L']
const MAX_BEFORE_BYTES = 64 * 1024
const FILE = ['0', '\0']
const DIRECTORY = '5'

/**
 * Unpacks a tar archive, plain or gzip, into an empty directory. Files are synced. Nothing but regular files and
 * directories is accepted, and no path that leaves the directory; of modes the executable bit is kept.
 *
 * @throws Error in one line for another archive; files before the fault stay
 * @see POSIX.1-1988, the ustar interchange format
 */
export async function unpackTar(archive: string, dir: string, limits: UnpackLimits): Promise<void> {
  const reader = createReader(await openArchive(archive))
  let files = 0
  let bytes = 0
  let longName: string | undefined
  try {
    for (;;) {
      const block = await reader.exactly(BLOCK)
      if (block === undefined || block.every((byte) => byte === 0)) return
      const entry = readHeader(block)
      bytes += entry.sizeBytes
      if (bytes > limits.maxBytes || ++files > limits.maxFiles)
        throw new Error(
          `the archive has more than ${limits.maxFiles} files or ${limits.maxBytes} bytes, expected fewer`,
        )
      if (BEFORE.includes(entry.type)) longName = (await readBefore(reader, entry)) ?? longName
      else {
        const target = path.join(dir, ...stepsOf(longName ?? entry.name))
        longName = undefined
        if (entry.type === DIRECTORY) await mkdir(target, { recursive: true, mode: 0o700 })
        else if (FILE.includes(entry.type)) await writeFile(reader, target, entry, limits)
        else throw otherEntry(entry)
      }
      await reader.skip((BLOCK - (entry.sizeBytes % BLOCK)) % BLOCK)
    }
  } finally {
    await reader.close()
  }
}

/** Opens an archive; gzip is recognised by its first bytes. */
async function openArchive(file: string): Promise<AsyncIterable<Uint8Array>> {
  const handle = await open(file, 'r')
  const head = Buffer.alloc(2)
  try {
    await handle.read(head, 0, 2, 0)
  } finally {
    await handle.close()
  }
  const source = createReadStream(file, { highWaterMark: 256 * 1024 })
  if (head[0] !== 0x1f || head[1] !== 0x8b) return source
  const unzip = createGunzip()
  source.once('error', (error) => unzip.destroy(error))
  return source.pipe(unzip)
}

interface Entry {
  readonly name: string
  readonly type: string
  readonly sizeBytes: number
  readonly isExecutable: boolean
}

/** @throws Error for a block that is no header */
function readHeader(block: Buffer): Entry {
  const text = (from: number, to: number) => block.toString('utf8', from, to).replace(/\0.*$/s, '')
  const octal = (from: number, to: number) => {
    const digits = text(from, to).trim()
    if (!/^[0-7]{1,11}$/.test(digits)) throw new Error('found no tar archive, expected one, plain or gzip')
    return Number.parseInt(digits, 8)
  }
  const sum = octal(148, 156)
  // the checksum field itself counts as blanks
  const found = block.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0)
  if (sum !== found) throw new Error('found a damaged header in the archive, expected its checksum')
  const prefix = text(345, 500)
  const isUstar = block.toString('latin1', 257, 262) === 'ustar' && block[262] === 0
  return {
    name: isUstar && prefix !== '' ? `${prefix}/${text(0, 100)}` : text(0, 100),
    type: block.toString('latin1', 156, 157),
    sizeBytes: octal(124, 136),
    isExecutable: (octal(100, 108) & 0o100) !== 0,
  }
}

/** Returns the steps of a path. @throws Error for one that is absolute or leaves the directory */
function stepsOf(name: string): string[] {
  const steps = name.split('/').filter((step) => step !== '' && step !== '.')
  if (name.startsWith('/') || steps.includes('..'))
    throw new Error(`found the path ${name.slice(0, 100)} in the archive, expected one inside it`)
  return steps
}

async function writeFile(
  reader: Reader,
  target: string,
  { sizeBytes, isExecutable }: Entry,
  { requireSpace }: UnpackLimits,
): Promise<void> {
  await mkdir(path.dirname(target), { recursive: true, mode: 0o700 })
  const handle = await open(target, 'wx', isExecutable ? 0o700 : 0o600)
  try {
    for (let left = sizeBytes; left > 0; ) {
      const chunk = await reader.some(left)
      await requireSpace(chunk.byteLength)
      for (let at = 0; at < chunk.byteLength; ) at += (await handle.write(chunk, at)).bytesWritten
      left -= chunk.byteLength
    }
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Reads a header before an entry. @returns the name of that entry, where the header has it */
async function readBefore(reader: Reader, entry: Entry): Promise<string | undefined> {
  if (entry.sizeBytes > MAX_BEFORE_BYTES) throw otherEntry(entry)
  const facts = ((await reader.exactly(entry.sizeBytes)) ?? Buffer.alloc(0)).toString('utf8')
  if (entry.type === 'L') return facts.replace(/\0.*$/s, '')
  if (/^\d+ size=/m.test(facts))
    throw new Error('found a file of over 8 GiB in the archive, expected smaller ones')
  return entry.type === 'x' ? /^\d+ path=(.*)$/m.exec(facts)?.[1] : undefined
}

function otherEntry({ name, type }: Entry): Error {
  const found = `the entry ${name.slice(0, 100)} of type ${JSON.stringify(type)}`
  return new Error(`found ${found} in the archive, expected files and directories`)
}

/** Bytes of a stream, taken by amounts. */
interface Reader {
  /** Returns so many bytes; undefined at the end. @throws Error when the stream ends on the way */
  exactly(bytes: number): Promise<Buffer | undefined>
  /** Returns 1 to `most` bytes. @throws Error at the end */
  some(most: number): Promise<Uint8Array>
  skip(bytes: number): Promise<void>
  close(): Promise<void>
}

function createReader(source: AsyncIterable<Uint8Array>): Reader {
  const chunks = source[Symbol.asyncIterator]()
  let held: Uint8Array = new Uint8Array(0)
  const fill = async () => {
    while (held.byteLength === 0) {
      const { done, value } = await chunks.next()
      if (done === true) return false
      held = value
    }
    return true
  }
  const take = (most: number) => {
    const taken = held.subarray(0, most)
    held = held.subarray(taken.byteLength)
    return taken
  }
  const some = async (most: number) => {
    if (await fill()) return take(most)
    throw new Error('the archive ends on the way, expected its last block')
  }
  return {
    some,
    async exactly(bytes) {
      if (!(await fill())) return undefined
      const parts: Uint8Array[] = []
      for (let left = bytes; left > 0; ) {
        const part = await some(left)
        parts.push(part)
        left -= part.byteLength
      }
      return Buffer.concat(parts)
    },
    async skip(bytes) {
      for (let left = bytes; left > 0; ) left -= (await some(left)).byteLength
    },
    async close() {
      await chunks.return?.()
    },
  }
}
