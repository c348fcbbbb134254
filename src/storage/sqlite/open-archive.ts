import { createWriteLock } from '../work/write-lock.js'
import { type DataDb, openDataDb, openDataReader } from './connection/data-db.js'

/**
 * Opens an archive of datasets and citations, which is only read.
 *
 * @param file undefined for one without any
 */
export function openArchive(file: string | undefined): DataDb {
  if (file === undefined) return openDataDb(':memory:')
  const reader = openDataReader(file)
  return {
    reader,
    writer: reader, // its methods are not offered
    lock: createWriteLock(),
    check: async () => void reader.prepare('SELECT count(*) FROM sqlite_schema').get(),
    probeWrite: async () => undefined,
    close: () => void reader.close(),
  }
}
