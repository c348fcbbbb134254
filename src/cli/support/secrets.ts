import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import type { DataLayout } from '../../files/layout.js'
import { createKeyring, readKeyFile } from '../../storage/keyring.js'
import type { StoredFacts } from '../../storage/maintenance.js'

/** Text that replaces a secret. */
export const MASK = '[secret]'

/** Replaces secrets in a text. */
export type Masker = (text: string) => string

/**
 * Patterns of secrets: key secrets of this program, credentials in headers and URLs, values named like
 * secrets, private keys.
 */
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
 * Creates a masker of known secrets, and of everything that matches a pattern of a secret.
 *
 * @param known from `knownSecrets`
 */
export function createMasker(known: readonly string[]): Masker {
  return (text) => {
    let masked = text
    for (const secret of known) masked = masked.replaceAll(secret, MASK)
    for (const [shape, by] of SHAPES) masked = masked.replaceAll(shape, by)
    return masked
  }
}

/**
 * Secrets of a data directory in every encoding that a text could hold: the key file, the secrets of
 * upstreams, and the digests of key secrets and session tokens. Longest first, so that masking a short one
 * leaves no part of a longer one.
 *
 * @throws Error when the key file or a stored secret cannot be read
 */
export async function knownSecrets(
  { root, stateDb, keyFile }: DataLayout,
  facts: StoredFacts,
): Promise<string[]> {
  const found = new Set<string>()
  const add = (bytes: Uint8Array) => {
    const buffer = Buffer.from(bytes)
    for (const form of ['hex', 'base64', 'base64url'] as const) found.add(buffer.toString(form))
  }
  const key = existsSync(keyFile) ? readKeyFile(keyFile) : undefined
  if (key !== undefined) add(key)
  if (existsSync(stateDb)) {
    const keyring = key === undefined ? undefined : createKeyring(key)
    const { bytes, texts } = await facts.secrets(root, keyring)
    for (const one of bytes) add(one)
    for (const text of texts) {
      found.add(text)
      found.add(JSON.stringify(text).slice(1, -1))
      add(Buffer.from(text, 'utf8'))
    }
  }
  return [...found].filter((text) => text.length > 3).sort((a, b) => b.length - a.length)
}

/**
 * Reads the last error and warning lines of a log file.
 *
 * @param maxBytes size of the end of the file that is read
 */
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
