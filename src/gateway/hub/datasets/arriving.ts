import { rmSync } from 'node:fs'
import path from 'node:path'
import { AppError } from '../../../errors.js'
import { makeDirectory } from '../../../files/layout.js'
import type { CitedState } from '../../../storage/datasets/citations.js'
import type { CitationCopies, CopyKey } from '../../../storage/exchange/citation-copies.js'
import { createCitationCopies } from '../../../storage/sqlite/citations/copies.js'
import { openDataDb } from '../../../storage/sqlite/connection/data-db.js'
import { openDatasetStores } from '../../../storage/sqlite/dataset-stores.js'

/** Citations whose rows are arriving at this process. */
interface ArrivingCopies extends CitationCopies {
  /** Finds a citation whose rows have all arrived; undefined for another one. */
  findComplete(longForm: string): Promise<CitedState | undefined>
  /** Removes the rows of a citation. */
  drop(longForm: string): void
  close(): void
}

/** Most citations that arrive at a time: the rows of the oldest go, and its sender begins again. */
const MOST_ARRIVING = 20

/**
 * Creates the copies of citations that are arriving, each in a database of SQLite of its own, which goes once all
 * processes have the citation.
 *
 * @param dir directory of the databases
 * @param nowUs wall clock
 */
export function createArrivingCopies(dir: string, nowUs: () => number): ArrivingCopies {
  const open = new Map<string, ReturnType<typeof openOne>>()
  let made = 0
  const drop = (longForm: string) => {
    open.get(longForm)?.close()
    open.delete(longForm)
  }
  const begin = (longForm: string) => {
    const [oldest] = open.keys()
    if (open.size >= MOST_ARRIVING && oldest !== undefined) drop(oldest)
    const one = openOne(path.join(dir, String(++made)), nowUs)
    open.set(longForm, one)
    return one
  }
  /** @throws AppError UNKNOWN_FEED */
  const copiesOf = ({ longForm }: CopyKey): CitationCopies => {
    const one = open.get(longForm)
    if (one !== undefined) return one.copies
    const message = `The rows of the citation ${longForm} are not here any more; offer it again`
    throw new AppError('UNKNOWN_FEED', { long_form: longForm }, { message })
  }
  return {
    open: async (offer, id, atUs) =>
      await (open.get(offer.longForm) ?? begin(offer.longForm)).copies.open(offer, id, atUs),
    find: async (key) => await open.get(key.longForm)?.copies.find(key),
    append: async (key, ...rest) => await copiesOf(key).append(key, ...rest),
    openSums: async (key) => await copiesOf(key).openSums(key),
    finish: async (offer, sums) => await copiesOf(offer).finish(offer, sums),
    abandon: async ({ longForm }) => drop(longForm),
    findComplete: async (longForm) => await open.get(longForm)?.citations.find(longForm),
    drop,
    close() {
      for (const longForm of [...open.keys()]) drop(longForm)
    },
  }
}

function openOne(dir: string, nowUs: () => number) {
  makeDirectory(dir)
  const data = openDataDb(path.join(dir, 'data.db'))
  return {
    copies: createCitationCopies(data, nowUs),
    citations: openDatasetStores(data).citations,
    close() {
      data.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
