import type { S3Store } from '../../../files/s3/store.js'
import type { MetaStore } from '../../../storage/meta.js'
import type { CitationObjects } from '../../../storage/postgres/feeds/citation-objects.js'
import { filesOfArchive } from '../../../storage/sqlite/move/archive.js'

/** Note of the database: SHA-256 of the archive of datasets and citations. */
export const ARCHIVE = 'dataset_archive'

export interface NamedObjectsDeps {
  /** objects of the bucket */
  readonly bytes: Pick<S3Store, 'localFile'>
  readonly rows: Pick<CitationObjects, 'after'>
  readonly meta: Pick<MetaStore, 'noted'>
}

/**
 * Yields the objects of datasets and citations: those of citations of other nodes, the archive that a move has brought, and the
 * files that its rows name, which no row of the database does.
 *
 * @throws Error where the archive is missing; AppError STORAGE_DAMAGED, OBJECTS_UNAVAILABLE
 */
export async function* namedObjects({
  bytes,
  rows,
  meta,
}: NamedObjectsDeps): AsyncGenerator<{ readonly sha256: string }[]> {
  yield await rows.after(0)
  const archive = await meta.noted(ARCHIVE)
  if (archive === undefined) return
  yield [{ sha256: archive }]
  const file = await bytes.localFile(archive)
  if (file === undefined) throw new Error(missingArchive(archive))
  yield filesOfArchive(file).map((sha256) => ({ sha256 }))
}

/** Text of the error of an archive that is not there. */
export function missingArchive(sha256: string): string {
  return `the bucket lacks the object datasets/${sha256} with the datasets and citations of this hub`
}
