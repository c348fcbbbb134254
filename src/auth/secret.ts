import { createHash, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'

const PREFIX = 'fgs_'

/**
 * A new API secret: `fgs_`, 256 random bits in base64url, and eight hex digits of CRC-32 over what stands before,
 * so that a scanner of leaked secrets can tell a real one without asking the gateway.
 *
 * @param random 32 random bytes
 */
export function formatSecret(random: Uint8Array): string {
  const body = `${PREFIX}${Buffer.from(random).toString('base64url')}`
  return `${body}${crc32(body).toString(16).padStart(8, '0')}`
}

/** True when prefix, length and checksum fit; says nothing of whether any gateway knows the secret. */
export function isWellFormedSecret(text: string): boolean {
  if (!/^fgs_[A-Za-z0-9_-]{43}[0-9a-f]{8}$/.test(text)) return false
  return crc32(text.slice(0, -8)).toString(16).padStart(8, '0') === text.slice(-8)
}

/** What is stored of a secret or session token: SHA-256. They hold 122 random bits or more, so no slow hash is needed. */
export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret, 'utf8').digest()
}

/** Compares two digests of equal length in constant time. */
export function digestsEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}
