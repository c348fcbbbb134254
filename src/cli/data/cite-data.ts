import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { parseOffset } from '../../datetime.js'
import { type BlobStore, createBlobStore } from '../../files/blob-store.js'
import { layoutOf } from '../../files/layout.js'
import { readBlob } from '../../files/read-blob.js'
import { createClock } from '../../storage/clock.js'
import { type Keyring, openKeyring } from '../../storage/keyring.js'
import { type DataDb, openDataDb } from '../../storage/sqlite/connection/data-db.js'
import { retryBusy } from '../../storage/sqlite/connection/database.js'
import { createSweepLease } from '../../storage/sqlite/connection/lease.js'
import { createDatasetStore, type DatasetStore } from '../../storage/sqlite/datasets/store.js'
import type { SweepLease } from '../../storage/sweep-lease.js'
import type { CliDeps, GlobalOptions } from '../io.js'
import { readSettings } from '../settings.js'

/** What verbs of citations work with. */
export interface CiteData {
  readonly data: DataDb
  readonly keyring: Keyring
  readonly files: BlobStore
  readonly timeZoneMin: number
  /** what keeps the bytes of a backup that is being made */
  readonly lease: SweepLease
  /** bytes of a stored file by its digest */
  readFile(digest: string): Promise<Uint8Array>
  /** opened at the first call: it begins with checksums that are due */
  datasets(): DatasetStore
}

/** Opens data.db, also beside a running gateway, for one verb. */
export async function withCiteData<O>(
  command: Command,
  deps: CliDeps,
  act: (data: CiteData, options: O & GlobalOptions) => Promise<void>,
): Promise<void> {
  const options = command.optsWithGlobals<O & GlobalOptions>()
  const { dataDir, config } = readSettings(options, deps)
  const layout = layoutOf(dataDir)
  if (!existsSync(layout.dataDb)) {
    throw new Error(`${dataDir} holds no tables yet: give the --data-dir of a gateway that has been running`)
  }
  deps.makeFilesPrivate()
  const data = await retryBusy(() => openDataDb(layout.dataDb))
  const keyring = openKeyring(layout.keyFile)
  const files = createBlobStore({ dir: layout.filesDir, tempDir: layout.tempDir })
  const timeZoneMin = parseOffset(config.service.timeZone) ?? 0
  const readFile = (digest: string) => readBlob(files, digest)
  const clock = createClock(0)
  let store: DatasetStore | undefined
  const datasets = () => {
    store ??= createDatasetStore({
      ...{ data, keyring, timeZoneMin, readFile, newId: randomUUID },
      log: deps.createLog(config.log.level),
      nowUs: () => clock.nowUs(),
      pageRows: config.limits.pageRows,
    })
    return store
  }
  try {
    const lease = createSweepLease(layout.leaseDb)
    await act({ data, keyring, files, timeZoneMin, lease, readFile, datasets }, options)
  } finally {
    await store?.close()
    data.close()
  }
}
