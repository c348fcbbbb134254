import { readFileSync } from 'node:fs'
import { messageOf } from '../../errors.js'
import { readPublicKey, type SigningKey, type TrustedKeys, trustedKeys } from './keys.js'

/**
 * Reads the keys of `modelStore.trustedKeys`.
 *
 * @param entries PEM texts, or paths of PEM files
 * @throws Error that names the setting of the first key that cannot be used
 */
export function readTrustedKeys(entries: readonly string[]): TrustedKeys {
  return trustedKeys(entries.map((entry, index) => readEntry(entry, `modelStore.trustedKeys.${index}`)))
}

function readEntry(entry: string, setting: string): SigningKey {
  const isText = entry.includes('-----BEGIN')
  try {
    return readPublicKey(isText ? entry : readFileSync(entry, 'utf8'))
  } catch (error) {
    throw new Error(`${isText ? setting : `${setting}: ${entry}`}: ${messageOf(error)}`, { cause: error })
  }
}
