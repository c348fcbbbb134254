import { createHash } from 'node:crypto'

/*
 * Page digests of a citation. A page holds the rows whose ids divide to the same number; its digest is the first 8 bytes of the
 * SHA-256 over the canonical lines of its rows, enough to notice a changed disk, and not meant against a forger: the checksum of
 * the citation is. Stored: for each page that has rows the difference to the page before, in 7-bit groups, then the digest.
 */

/** Row ids of a page. Reading one row by its key reads this many. */
export const PAGE_IDS = 64

const DIGEST_BYTES = 8

/** Digests by page number, ascending. */
export type PageDigests = ReadonlyMap<number, bigint>

/** Writer of page digests. */
interface PageDigestWriter {
  /** Adds the next row; ids ascend. @param line canonical line of the row */
  add(rowId: number, line: string): void
  finish(): Uint8Array
}

/** Page of a row. */
export function pageOf(rowId: number | bigint): number {
  return Math.floor(Number(rowId) / PAGE_IDS)
}

/** Starts the digest of a page. Its canonical lines are added in the order of their ids. */
export function createPageHash(): { add(line: string): void; digest(): bigint } {
  const hash = createHash('sha256')
  let lines = ''
  return {
    // short lines together: an update costs as much as hashing 500 bytes
    add(line) {
      lines += line
      if (lines.length < GATHER_CHARS) return
      hash.update(lines)
      lines = ''
    },
    digest: () => hash.update(lines).digest().readBigUInt64LE(0),
  }
}

/** Characters of lines that are hashed together. */
const GATHER_CHARS = 64 * 1024

/** Starts the digests of a citation. Memory: about 9 bytes per page. */
export function createPageDigestWriter(): PageDigestWriter {
  const chunks: Buffer[] = []
  let page = 0
  let last = 0
  let hash: ReturnType<typeof createPageHash> | undefined
  const close = () => {
    if (hash === undefined) return
    const digest = Buffer.alloc(DIGEST_BYTES)
    digest.writeBigUInt64LE(hash.digest())
    chunks.push(Buffer.from(groupsOf(page - last)), digest)
    last = page
    hash = undefined
  }
  return {
    add(rowId, line) {
      if (pageOf(rowId) !== page) close()
      page = pageOf(rowId)
      hash ??= createPageHash()
      hash.add(line)
    },
    finish() {
      close()
      return Buffer.concat(chunks)
    },
  }
}

/** Reads stored page digests. @throws Error for bytes that no writer wrote */
export function readPageDigests(bytes: Uint8Array): PageDigests {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const digests = new Map<number, bigint>()
  let page = 0
  for (let at = 0; at < buffer.length; at += DIGEST_BYTES) {
    for (let factor = 1; ; factor *= 128) {
      const byte = buffer.readUInt8(at++)
      page += (byte % 128) * factor
      if (byte < 128) break
    }
    digests.set(page, buffer.readBigUInt64LE(at))
  }
  return digests
}

/** A number in groups of 7 bits, lowest first; the high bit marks that more follow. */
function groupsOf(value: number): number[] {
  const groups: number[] = []
  let rest = value
  for (; rest >= 128; rest = Math.floor(rest / 128)) groups.push((rest % 128) + 128)
  return [...groups, rest]
}
