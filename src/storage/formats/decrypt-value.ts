import type { Stored } from '../columns/column-type.js'
import type { Keyring } from '../keyring.js'

/**
 * Returns the plain text of an encrypted value; null when the bytes were encrypted for another column or key.
 *
 * @param tableName name of its dataset or loader table, which is bound to the cipher text
 */
export function decryptValue(
  tableName: string,
  columnName: string,
  stored: Stored,
  keyring: Pick<Keyring, 'read'>,
): string | null {
  if (!(stored instanceof Uint8Array)) throw new Error(`${columnName} holds a value that is not encrypted`)
  return keyring.read(stored, `${tableName}/${columnName}`)
}
