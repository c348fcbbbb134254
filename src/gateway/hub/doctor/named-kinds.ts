import type { S3Store } from '../../../files/s3/store.js'
import type { PostgresDb } from '../../../storage/postgres/connection/database.js'
import { createCitationObjects } from '../../../storage/postgres/feeds/citation-objects.js'
import type { PostgresState } from '../../../storage/postgres/state.js'
import { createCatalog } from '../../../storage/postgres/tables/catalog.js'
import { usedDigests } from '../../../storage/postgres/tables/files.js'
import { namedObjects } from '../datasets/named-objects.js'
import type { HubObjects } from '../engines/connect.js'

/** Bytes that a row names. */
export interface NamedBytes {
  readonly sha256: string
  /** undefined where the row does not tell it */
  readonly sizeBytes?: number
}

/** Rows that name objects of one folder of the bucket. */
export interface NamedKind {
  /** name of the check */
  readonly check: string
  /** a row, for messages */
  readonly what: string
  readonly folder: string
  readonly store: S3Store
  /** digests that rows name, some at a time */
  readonly pages: () => AsyncIterable<readonly NamedBytes[]>
  /** true for bytes whose rows are gone, which the next sweep removes */
  readonly isReleased: (sha256: string) => Promise<boolean>
}

interface KindDeps {
  readonly db: PostgresDb
  readonly state: PostgresState
  readonly objects: Pick<HubObjects, 'store'>
}

/** Digests that are read from the database at a time. */
const PAGE = 500

/** Returns all rows that name objects. */
export function namedKinds({ db, state, objects }: KindDeps): NamedKind[] {
  const never = async () => false
  const datasets = objects.store('datasets')
  return [
    {
      ...{ check: 'models', what: 'model', folder: 'models', store: objects.store('models') },
      pages: () => modelBytes(state),
      isReleased: (sha256) => state.models.isReleased(sha256),
    },
    {
      ...{ check: 'citations', what: 'citation', folder: 'datasets', store: datasets, isReleased: never },
      pages: () => namedObjects({ bytes: datasets, rows: createCitationObjects(db), meta: state.meta }),
    },
    {
      ...{ check: 'files', what: 'file of a profile', folder: 'fleet', store: objects.store('fleet') },
      pages: () => fleetBytes(state),
      isReleased: never,
    },
    {
      ...{ check: 'files of rows', what: 'file of a row', folder: 'files', store: objects.store('files') },
      pages: () => rowBytes(db),
      isReleased: never,
    },
  ]
}

async function* modelBytes({ models }: PostgresState): AsyncGenerator<NamedBytes[]> {
  for (let after = ''; ; ) {
    const page = await models.digests(after, PAGE)
    yield page
    after = page.at(-1)?.sha256 ?? after
    if (page.length < PAGE) return
  }
}

async function* fleetBytes({ fleetFiles }: PostgresState): AsyncGenerator<NamedBytes[]> {
  yield await fleetFiles.list()
}

async function* rowBytes({ read }: PostgresDb): AsyncGenerator<NamedBytes[]> {
  const used = await usedDigests(read, await createCatalog().list(read))
  yield [...used].map((sha256) => ({ sha256 }))
}
