import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import type { DataLayout } from '../files/layout.js'
import { createKeyring, readKeyFile } from '../storage/keyring.js'
import { openPlain } from '../storage/sqlite/connection/snapshot.js'
import { UPSTREAM_SECRET_CONTEXT } from '../storage/upstreams.js'

export const MASK = '[secret]'

/** Replaces what must not leave the device in a text. */
export type Masker = (text: string) => string

/** Shapes of secrets that are known here, or come from elsewhere: of this program's keys, of headers, of addresses. */
const SHAPES: readonly [shape: RegExp, by: string][] = [
  [/fgs_[A-Za-z0-9_-]{20,}/g, MASK],
  [/\b(basic|bearer)\s+[A-Za-z0-9+/=._~-]{8,}/gi, `$1 ${MASK}`],
  [/(:\/\/)[^/\s:@"']+:[^/\s@"']+@/g, `$1${MASK}@`],
  [
    /("?(?:secret|password|passwd|token|access_token|authorization|cookie)"?\s*[:=]\s*)"[^"]*"/gi,
    `$1"${MASK}"`,
  ],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----/g, MASK],
]

/**
 * Masks the secrets of a data directory wherever they stand in a text (the key file's, those of upstreams, and the digests of
 * keys and session tokens), and everything that has the shape of one.
 */
export function createMasker(layout: DataLayout): Masker {
  const known = knownSecrets(layout)
  return (text) => {
    let masked = text
    for (const secret of known) masked = masked.replaceAll(secret, MASK)
    for (const [shape, by] of SHAPES) masked = masked.replaceAll(shape, by)
    return masked
  }
}

/** In every spelling in which they could turn up. Longest first, so that no part of one is left. */
export function knownSecrets({ stateDb, keyFile }: DataLayout): string[] {
  const found = new Set<string>()
  const add = (bytes: Uint8Array) => {
    const buffer = Buffer.from(bytes)
    for (const form of ['hex', 'base64', 'base64url'] as const) found.add(buffer.toString(form))
  }
  const key = existsSync(keyFile) ? readKeyFile(keyFile) : undefined
  if (key !== undefined) add(key)
  if (existsSync(stateDb)) {
    const db = openPlain(stateDb, true)
    try {
      for (const digest of db.prepare<[], Buffer>('SELECT digest FROM api_key_secret').pluck().all())
        add(digest)
      for (const hash of db.prepare<[], Buffer>('SELECT token_hash FROM session').pluck().all()) add(hash)
      const stored = db.prepare<[], Buffer>('SELECT secret FROM upstream').pluck().all()
      for (const secret of stored) {
        add(secret)
        if (key === undefined) continue
        const text = createKeyring(key).decrypt(secret, UPSTREAM_SECRET_CONTEXT)
        found.add(text)
        found.add(JSON.stringify(text).slice(1, -1))
        add(Buffer.from(text, 'utf8'))
      }
    } finally {
      db.close()
    }
  }
  return [...found].filter((text) => text.length > 3).sort((a, b) => b.length - a.length)
}

/** The newest error and warning lines of a log file, of which no more than the end is read. */
export function lastFaults(file: string, maxLines: number, maxBytes = 8 * 1024 * 1024): string[] {
  return endOf(file, maxBytes)
    .split('\n')
    .filter((line) => /"level":"(?:error|warn|fatal)"/.test(line) || /^fieldgate:/.test(line))
    .slice(-maxLines)
}

function endOf(file: string, maxBytes: number): string {
  const fd = openSync(file, 'r')
  try {
    const { size } = fstatSync(fd)
    const bytes = Buffer.alloc(Math.min(size, maxBytes))
    const read = readSync(fd, bytes, 0, bytes.length, size - bytes.length)
    return bytes.toString('utf8', 0, read)
  } finally {
    closeSync(fd)
  }
}
