import { createPublicKey, type KeyObject, verify } from 'node:crypto'

/** What a release's signature says of its file. */
export interface Statement {
  version: string
  /** `linux-x64` or `linux-arm64` */
  target: string
  sizeBytes: number
  /** lower-case hex */
  sha256: string
}

/** First line, signed with the rest: a statement of another kind by the same key is none of ours. */
const HEAD = 'fieldgate-release-1'
/** DER of an Ed25519 public key up to its 32 bytes. @see RFC 8410, 4 */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')
const MAX_CHARS = 4096

/**
 * Lines of the statement, which are what is signed: the file itself is too large to be held in memory on a
 * board.
 */
export function formatStatement({ version, target, sizeBytes, sha256 }: Statement): string {
  return `${HEAD}\nversion: ${version}\ntarget: ${target}\nbytes: ${sizeBytes}\nsha256: ${sha256}\n`
}

/**
 * Reads a `.sig` file: the lines of a statement, and one with its Ed25519 signature in base64.
 *
 * @param publicKey 32 bytes in base64
 * @throws Error in one line when it is no such file, or when another key signed it
 */
export function readStatement(text: string, publicKey: string): Statement {
  const shape =
    /^(fieldgate-release-1\nversion: (\d+\.\d+\.\d+[0-9A-Za-z.+-]*)\ntarget: ([a-z0-9-]+)\nbytes: (\d{1,15})\nsha256: ([0-9a-f]{64})\n)signature: ([A-Za-z0-9+/]{86}==)\n?$/
  const found = text.length > MAX_CHARS ? null : shape.exec(text)
  if (found === null) throw new Error(`expected the lines of ${HEAD} and their signature`)
  const [, signed = '', version = '', target = '', sizeBytes = '', sha256 = '', signature = ''] = found
  if (!verify(null, Buffer.from(signed), keyOf(publicKey), Buffer.from(signature, 'base64')))
    throw new Error('the key of update.publicKey did not sign it')
  return { version, target, sizeBytes: Number(sizeBytes), sha256 }
}

/**
 * Negative when `a` is older than `b`, by their three numbers and then by the rest: a version with a suffix
 * is older.
 */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => /^(\d+)\.(\d+)\.(\d+)(.*)$/.exec(text) ?? [text, 0, 0, 0, text])
  for (const part of [1, 2, 3]) {
    const difference = Number(left?.[part]) - Number(right?.[part])
    if (difference !== 0) return difference
  }
  const [x, y] = [String(left?.[4]), String(right?.[4])]
  if (x === y) return 0
  if (x === '' || y === '') return x === '' ? 1 : -1
  return x < y ? -1 : 1
}

function keyOf(publicKey: string): KeyObject {
  const der = Buffer.concat([SPKI_PREFIX, Buffer.from(publicKey, 'base64')])
  return createPublicKey({ key: der, format: 'der', type: 'spki' })
}
