import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs'
import path from 'node:path'

/** Encrypts what must not be readable on a stolen disk: encrypted columns, secrets of upstream nodes. */
export interface Keyring {
  /** @param context what the value belongs to; the same must be given to `decrypt`, so values cannot be swapped */
  encrypt(text: string, context: string): Uint8Array
  /** @throws Error when the key is another one, or the bytes were changed or belong elsewhere */
  decrypt(stored: Uint8Array, context: string): string
}

/** AES-256-GCM as NIST SP 800-38D has it: 96-bit random nonce, 128-bit tag. */
const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** first byte of every stored value, so that another form can follow one day */
const VERSION = 1
const FILE_HEAD = 'fieldgate-key-1 '

/**
 * Opens the key file, and makes one with a fresh random key when there is none.
 *
 * @throws Error when the file is there but is no key file: a lost key must never be replaced silently
 */
export function openKeyring(file: string): Keyring {
  return createKeyring(readKeyFile(file) ?? makeKey(file))
}

/** @param key 32 bytes */
export function createKeyring(key: Uint8Array): Keyring {
  return {
    encrypt(text, context) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(context, 'utf8'))
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), body])
    },
    decrypt(stored, context) {
      if (stored[0] !== VERSION || stored.length < 1 + NONCE_BYTES + TAG_BYTES)
        throw new Error(`an encrypted value has the form ${stored[0]}, expected ${VERSION}`)
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

/** The 32 bytes of a key file; undefined when there is none. @throws Error when it is no key file */
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
      `${file} is not a key file: restore it from a backup, what it encrypted cannot be read without it`,
    )
  return key
}

/** Written whole under another name and linked into place: two starts at once end up with one key. */
function makeKey(file: string): Buffer {
  const key = randomBytes(KEY_BYTES)
  const temp = `${file}.${randomBytes(6).toString('hex')}`
  const handle = openSync(temp, 'wx', 0o600)
  writeSync(handle, `${FILE_HEAD}${key.toString('base64')}\n`)
  fsyncSync(handle)
  closeSync(handle)
  try {
    linkSync(temp, file)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    const theirs = readKeyFile(file)
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
