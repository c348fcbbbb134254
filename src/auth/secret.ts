import { hash, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'

const PREFIX = 'fgs_'

/**
 * Makes an API secret: `fgs_`, 256 random bits in base64url, and CRC-32 of both in eight hex digits,
 * so that a scanner for leaked secrets recognizes a real one without a gateway.
 *
 * @param random 32 random bytes
 */
export function formatSecret(random: Uint8Array): string {
  const body = `${PREFIX}${Buffer.from(random).toString('base64url')}`
  return `${body}${crc32(body).toString(16).padStart(8, '0')}`
}

/** True when prefix, length and checksum are right; the secret need not exist. */
export function isWellFormedSecret(text: string): boolean {
  if (!/^fgs_[A-Za-z0-9_-]{43}[0-9a-f]{8}$/.test(text)) return false
  return crc32(text.slice(0, -8)).toString(16).padStart(8, '0') === text.slice(-8)
}

/**
 * Returns the SHA-256 digest that is stored of a secret or session token. They have 122 random bits or more:
 * no slow hash.
 */
export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer')
}

/** True when two digests are equal. Takes the same time for any digests of equal length. */
export function digestsEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}
