import { createPublicKey, type KeyObject, verify } from 'node:crypto'

/** Signed statement about the file of a release. */
export interface Statement {
  version: string
  /** `linux-x64` or `linux-arm64` */
  target: string
  sizeBytes: number
  /** lower-case hex */
  sha256: string
}

/** First line of the signed text: keeps other texts signed with the same key from being accepted. */
const HEAD = 'fieldgate-release-1'
/** DER prefix of an Ed25519 public key, before its 32 bytes. @see RFC 8410, section 4 */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')
/** Longest `.sig` file. */
export const MAX_SIGNATURE_CHARS = 4096

/**
 * Formats the text that is signed. It holds the digest: the file itself can be larger than the memory of a
 * board.
 */
export function formatStatement({ version, target, sizeBytes, sha256 }: Statement): string {
  return `${HEAD}\nversion: ${version}\ntarget: ${target}\nbytes: ${sizeBytes}\nsha256: ${sha256}\n`
}

/**
 * Reads a `.sig` file, a statement followed by its Ed25519 signature in base64, and verifies the signature.
 *
 * @param publicKey 32 bytes in base64
 * @throws Error in one line for another format, or a signature of another key
 */
export function readStatement(text: string, publicKey: string): Statement {
  const { statement, signed, signature } = split(text)
  if (!verify(null, Buffer.from(signed), keyOf(publicKey), Buffer.from(signature, 'base64')))
    throw new Error('the signature was not made with the key of update.publicKey')
  return statement
}

/**
 * Reads the statement of a `.sig` file without verifying it: for hubs, which need not have the key.
 *
 * @throws Error in one line for another format
 */
export function parseStatement(text: string): Statement {
  return split(text).statement
}

function split(text: string): { statement: Statement; signed: string; signature: string } {
  const shape =
    /^(fieldgate-release-1\nversion: (\d+\.\d+\.\d+[0-9A-Za-z.+-]*)\ntarget: ([a-z0-9-]+)\nbytes: (\d{1,15})\nsha256: ([0-9a-f]{64})\n)signature: ([A-Za-z0-9+/]{86}==)\n?$/
  const found = text.length > MAX_SIGNATURE_CHARS ? null : shape.exec(text)
  if (found === null) throw new Error(`expected the lines of ${HEAD} and their signature`)
  const [, signed = '', version = '', target = '', sizeBytes = '', sha256 = '', signature = ''] = found
  return { statement: { version, target, sizeBytes: Number(sizeBytes), sha256 }, signed, signature }
}

/**
 * Compares versions: negative when `a` is older than `b`. The three numbers are compared first, then the
 * suffix; a version with a suffix is older than the same version without one.
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
