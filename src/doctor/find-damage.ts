import { messageOf } from '../errors.js'
import type { Maintenance } from '../storage/maintenance.js'

interface FindDamageOptions {
  /** compares the rows of citations with their checksums, which takes longer than the pages */
  readonly withRows: boolean
  /** called with the name of what is read next; ends the work by throwing */
  onProgress(what: string): void
}

/**
 * Reads every page of both databases, and every row of the citations if asked.
 *
 * @returns what is damaged or cannot be read, a sentence each; empty when all is sound
 */
export async function findDamage(
  root: string,
  { databases, facts }: Pick<Maintenance, 'databases' | 'facts'>,
  { withRows, onProgress }: FindDamageOptions,
): Promise<string[]> {
  const faults: string[] = []
  const guarded = async (what: string, work: () => Promise<string[]>) => {
    onProgress(what)
    try {
      faults.push(...(await work()))
    } catch (error) {
      faults.push(`${what}: ${messageOf(error)}`)
    }
  }
  const found = await databases.list(root)
  for (const name of ['state.db', 'data.db'] as const) {
    if (!found.includes(name)) continue
    await guarded(name, async () =>
      (await databases.check(root, name, 'full')).map((line) => `${name}: ${line}`),
    )
  }
  if (withRows && found.includes('data.db'))
    await guarded('citations', async () => {
      const changed: string[] = []
      for await (const { longForm, found: sum, expected } of facts.checkCitations(root))
        if (sum !== expected) changed.push(`the citation ${longForm} no longer has its checksum`)
      return changed
    })
  return faults
}
