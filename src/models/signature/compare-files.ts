import { refusal, shown } from './refusal.js'
import type { Resource, Statement } from './statement.js'

/**
 * Compares the files of a model with its statement. A model that is one file may be listed as `.` or under
 * its own name.
 *
 * @param files path below the model → SHA-256, hex; without ignored files
 * @param singleName name of a model that is one file; undefined for a directory
 * @throws AppError SIGNATURE_REFUSED: changed_file, missing_file or unlisted_file
 */
export function compareFiles(
  { resources }: Statement,
  files: ReadonlyMap<string, string>,
  singleName?: string,
): void {
  const left = new Map(files)
  for (const { name, digest } of resources) {
    const path = name === '.' && singleName !== undefined ? singleName : name
    const found = left.get(path)
    if (found === undefined) throw refusal('missing_file', `${shown(name)} is signed and does not exist`)
    if (found !== digest)
      throw refusal('changed_file', `${shown(name)}: found the SHA-256 ${found}, expected ${digest}`)
    left.delete(path)
  }
  for (const name of left.keys()) throw refusal('unlisted_file', `${shown(name)} exists and is not signed`)
}

/**
 * Compares the bytes of a stored model with its statement. A store keeps no file name, so the one resource
 * may have any.
 *
 * @param sha256 digest of the bytes, hex
 * @throws AppError SIGNATURE_REFUSED: changed_file or missing_file
 */
export function compareBytes({ resources }: Statement, sha256: string): void {
  const [first, second] = resources as [Resource, ...Resource[]] // a statement lists at least one
  if (second !== undefined)
    throw refusal(
      'missing_file',
      `found ${resources.length} signed files, expected one: a stored model is one file`,
    )
  if (first.digest !== sha256)
    throw refusal('changed_file', `found bytes of the SHA-256 ${sha256}, expected ${first.digest}`)
}
