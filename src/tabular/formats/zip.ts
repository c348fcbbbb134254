import { fileFault } from '../faults.js'

/** A file of an archive. */
export interface ZipEntry {
  readonly name: string
  /** packed bytes */
  readonly blob: Blob
  readonly isPacked: boolean
}

/** End record without a comment, bytes. */
const END_BYTES = 22
const MAX_COMMENT_BYTES = 65_535
const END_MARK = 0x06054b50
const ENTRY_MARK = 0x02014b50
const FILE_MARK = 0x04034b50
const STORED = 0
const DEFLATED = 8
/** Size and offset of archives of 4 GB and more. */
const ZIP64 = 0xffffffff
const MAX_ENTRIES = 1000
const MAX_DIRECTORY_BYTES = 4_000_000

/**
 * Reads the directory of a ZIP archive.
 *
 * @throws FileFault BAD_ARCHIVE for another file, an encrypted one, and methods other than deflate
 * @see PKWARE, .ZIP File Format Specification (APPNOTE.TXT), 4.3
 */
export async function zipEntries(archive: Blob): Promise<ZipEntry[]> {
  const tail = await bytesOf(archive, Math.max(0, archive.size - END_BYTES - MAX_COMMENT_BYTES), archive.size)
  let end = tail.byteLength - END_BYTES
  while (end >= 0 && tail.getUint32(end, true) !== END_MARK) end--
  if (end < 0) throw bad('found no directory')
  const [count, size, offset] = [
    tail.getUint16(end + 10, true),
    tail.getUint32(end + 12, true),
    tail.getUint32(end + 16, true),
  ]
  if (offset === ZIP64 || size > MAX_DIRECTORY_BYTES || count > MAX_ENTRIES)
    throw bad(`found ${count} files, expected at most ${MAX_ENTRIES} in an archive of less than 4 GB`)
  const directory = await bytesOf(archive, offset, offset + size)
  const entries: ZipEntry[] = []
  for (let at = 0, n = 0; n < count; n++) {
    if (at + 46 > directory.byteLength || directory.getUint32(at, true) !== ENTRY_MARK)
      throw bad('its directory is cut off')
    const nameBytes = directory.getUint16(at + 28, true)
    const name = nameOf(directory, at + 46, nameBytes)
    const isFolder = name.endsWith('/')
    if (!isFolder && !isJunk(name)) entries.push(await entryOf(archive, directory, at, name))
    at += 46 + nameBytes + directory.getUint16(at + 30, true) + directory.getUint16(at + 32, true)
  }
  return entries
}

async function entryOf(archive: Blob, directory: DataView, at: number, name: string): Promise<ZipEntry> {
  const [flags, method] = [directory.getUint16(at + 8, true), directory.getUint16(at + 10, true)]
  const [packedSize, offset] = [directory.getUint32(at + 20, true), directory.getUint32(at + 42, true)]
  if ((flags & 1) !== 0) throw bad(`${name} is encrypted`)
  if (method !== STORED && method !== DEFLATED) throw bad(`${name} is packed by method ${method}, expected 8`)
  const head = await bytesOf(archive, offset, offset + 30)
  if (packedSize === ZIP64 || head.byteLength < 30 || head.getUint32(0, true) !== FILE_MARK)
    throw bad(`${name} is not where the directory has it`)
  const from = offset + 30 + head.getUint16(26, true) + head.getUint16(28, true)
  if (from + packedSize > archive.size) throw bad(`${name} is cut off`)
  return { name, blob: archive.slice(from, from + packedSize), isPacked: method === DEFLATED }
}

/** Name in UTF-8; that of older programs is readable where it has ASCII letters. */
function nameOf(directory: DataView, at: number, size: number): string {
  if (at + size > directory.byteLength) throw bad('its directory is cut off')
  return new TextDecoder().decode(new Uint8Array(directory.buffer, directory.byteOffset + at, size))
}

/** Files that macOS adds. */
function isJunk(name: string): boolean {
  return /(^|\/)(__MACOSX\/|\._|\.DS_Store$)/.test(name)
}

async function bytesOf(blob: Blob, from: number, until: number): Promise<DataView> {
  return new DataView(await blob.slice(from, until).arrayBuffer())
}

function bad(reason: string): Error {
  return fileFault('BAD_ARCHIVE', { reason })
}
