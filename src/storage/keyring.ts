import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import path from 'node:path'

/** Encrypts values that must not be readable on a stolen disk: encrypted columns and secrets of upstreams. */
export interface Keyring {
  /**
   * @param context place of the value; `decrypt` needs the same one, so that stored values cannot be swapped
   */
  encrypt(text: string, context: string): Uint8Array
  /** @throws Error for another key, changed bytes or another context */
  decrypt(stored: Uint8Array, context: string): string
  /**
   * Decrypts a value of a row. One that this key cannot decrypt is null, and reported once per context: a row
   * of another key must not hide the others.
   */
  read(stored: Uint8Array, context: string): string | null
  /** digest by which a key is recognised; says nothing about the key */
  readonly fingerprint: string
}

/** Name under which `meta` keeps the fingerprint of the key. */
export const KEY_FINGERPRINT = 'key_fingerprint'

/** AES-256-GCM as in NIST SP 800-38D: random nonce of 96 bits, tag of 128 bits. */
const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** First byte of every stored value; a later format will have another number. */
const VERSION = 1
const FILE_HEAD = 'fieldgate-key-1 '

/** Dependencies of opening a key file. */
export interface KeyringOptions {
  /** true when values were encrypted with a key: a missing one is not replaced then */
  hasEncrypted(): boolean
  /** receives the context of values that cannot be decrypted, each context once */
  onUnreadable?: (context: string) => void
}

/** Returns an `onUnreadable` that writes a log line. */
export function logsUnreadable(log: {
  error(fields: object, message: string): void
}): (context: string) => void {
  return (column) =>
    log.error(
      { column },
      'values of another key than the key file cannot be decrypted: they are shown as null',
    )
}

/**
 * Opens a key file; creates one with a random key if it is missing and nothing was encrypted yet.
 *
 * @throws Error for a file that is not a key file, or a missing one of encrypted values: a lost key must never
 *   be replaced silently
 */
export function openKeyring(file: string, { hasEncrypted, onUnreadable }: KeyringOptions): Keyring {
  const key = readKeyFile(file)
  if (key === undefined && hasEncrypted())
    throw new Error(
      `the key file ${file} is missing, but values are encrypted with it: put it back, or name its place in encryption.keyFile; nothing was changed`,
    )
  return createKeyring(key ?? createKeyFile(file), onUnreadable)
}

/** Creates a keyring over a key of 32 bytes. @param onUnreadable see `KeyringOptions` */
export function createKeyring(key: Uint8Array, onUnreadable?: (context: string) => void): Keyring {
  const reported = new Set<string>()
  return {
    fingerprint: createHmac('sha256', key).update('fieldgate key fingerprint').digest('hex'),
    read(stored, context) {
      try {
        return this.decrypt(stored, context)
      } catch {
        if (!reported.has(context)) onUnreadable?.(context)
        reported.add(context)
        return null
      }
    },
    encrypt(text, context) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(context, 'utf8'))
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), body])
    },
    decrypt(stored, context) {
      if (stored[0] !== VERSION)
        throw new Error(`found an encrypted value of version ${stored[0]}, expected ${VERSION}`)
      const minBytes = 1 + NONCE_BYTES + TAG_BYTES
      if (stored.length < minBytes)
        throw new Error(`found an encrypted value of ${stored.length} bytes, expected at least ${minBytes}`)
      const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.length)
      const nonce = bytes.subarray(1, 1 + NONCE_BYTES)
      const tag = bytes.subarray(1 + NONCE_BYTES, 1 + NONCE_BYTES + TAG_BYTES)
      const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(Buffer.from(context, 'utf8')).setAuthTag(tag)
      const body = decipher.update(bytes.subarray(1 + NONCE_BYTES + TAG_BYTES))
      return Buffer.concat([body, decipher.final()]).toString('utf8')
    },
  }
}

/**
 * Reads the 32 bytes of a key file; undefined if the file is missing.
 *
 * @throws Error for a file that is not a key file
 */
export function readKeyFile(file: string): Buffer | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
  const key = Buffer.from(text.trim().slice(FILE_HEAD.length), 'base64')
  if (!text.startsWith(FILE_HEAD) || key.length !== KEY_BYTES)
    throw new Error(
      `${file} is not a key file: restore it from a backup, encrypted values cannot be read without it`,
    )
  return key
}

/** Copies a key file, unless the target is there: it is whole or missing whenever the copy is cut off. */
export function copyKeyFile(from: string, to: string): void {
  const key = readKeyFile(from)
  if (key === undefined) throw new Error(`the key file ${from} is missing`)
  if (!existsSync(to)) createKeyFile(to, key)
}

/**
 * Creates a key file. It is written under another name and then linked, so that two starts at once share one
 * key.
 */
function createKeyFile(file: string, key: Buffer = randomBytes(KEY_BYTES)): Buffer {
  const temp = `${file}.${randomBytes(6).toString('hex')}`
  const handle = openSync(temp, 'wx', 0o600)
  writeSync(handle, `${FILE_HEAD}${key.toString('base64')}\n`)
  fsyncSync(handle)
  closeSync(handle)
  try {
    linkSync(temp, file)
  } catch (error) {
    const theirs = readKeyFile(file) // of another start
    if (theirs === undefined) throw error
    return theirs
  } finally {
    unlinkSync(temp)
  }
  const folder = openSync(path.dirname(file), 'r')
  fsyncSync(folder)
  closeSync(folder)
  return key
}
