import path from 'node:path'
import { isDamage, messageOf } from '../errors.js'
import type { DatabaseName, Maintenance } from '../storage/maintenance.js'

/** Faults that one message lists. */
const MAX_SHOWN = 3

/**
 * Checks the structure of copied databases, indexes included: reads all of them. A copy of a damaged database
 * cannot be restored, so it must neither count as a backup nor take the place of one.
 *
 * @param part folder of the copies
 * @param root the data directory they were copied from
 * @throws Error in one line with the faults
 */
export async function proveDatabases(
  part: string,
  root: string,
  names: readonly DatabaseName[],
  { databases }: Maintenance,
): Promise<void> {
  for (const name of names) {
    const faults = await faultsOf(() => databases.check(part, name, 'full'))
    if (faults.length > 0) throw new Error(damagedText(path.join(root, name), faults))
  }
}

/** Text of the error for a damaged database. @param subject the database */
export function damagedText(subject: string, faults: readonly string[]): string {
  const shown = faults.slice(0, MAX_SHOWN).join('; ')
  return `${subject} is damaged (${shown}): no backup was made, and none was removed; run \`fieldgate doctor\`, and restore the newest backup`
}

/**
 * Reads the cited rows of a copied database again.
 *
 * @returns long forms of the citations whose rows no longer have the recorded checksum
 */
export async function damagedCitations(
  part: string,
  { databases, facts }: Maintenance,
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const names = await databases.list(part)
  if (!names.includes('data.db')) return []
  // rows of another schema version cannot be read before its migration
  if ((await databases.schemaVersion(part, 'data.db')) !== databases.knownVersions['data.db']) return []
  const damaged: string[] = []
  for await (const { longForm, found, expected } of facts.checkCitations(part, signal))
    if (found !== expected) damaged.push(longForm)
  return damaged
}

/** A database whose first pages are damaged cannot even be checked: the error is the fault. */
async function faultsOf(check: () => Promise<string[]>): Promise<string[]> {
  try {
    return await check()
  } catch (error) {
    if (!isDamage(error)) throw error
    return [messageOf(error)]
  }
}
