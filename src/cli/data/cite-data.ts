import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { createDatasets, type DatasetStores, type Datasets } from '../../datasets/datasets.js'
import { parseOffset } from '../../datetime.js'
import { type BlobStore, createBlobStore } from '../../files/blob-store.js'
import { layoutOf } from '../../files/layout.js'
import { readBlob } from '../../files/read-blob.js'
import { type Keyring, openKeyring } from '../../storage/keyring.js'
import { type DataDb, openDataDb } from '../../storage/sqlite/connection/data-db.js'
import { retryBusy } from '../../storage/sqlite/connection/database.js'
import { createSweepLease } from '../../storage/sqlite/connection/lease.js'
import { limitValues } from '../../storage/sqlite/connection/value-limit.js'
import { openDatasetStores } from '../../storage/sqlite/dataset-stores.js'
import { hasEncryptedValues } from '../../storage/sqlite/maintenance/encrypted-values.js'
import { createClock } from '../../storage/work/clock.js'
import type { SweepLease } from '../../storage/work/sweep-lease.js'
import type { CliDeps, GlobalOptions } from '../io.js'
import { readSettings } from '../settings.js'

/** Parts that the verbs of citations use. */
export interface CiteData {
  readonly data: DataDb
  readonly stores: DatasetStores
  readonly keyring: Keyring
  readonly files: BlobStore
  readonly timeZoneMin: number
  /** guards the bytes that a running backup reads */
  readonly lease: SweepLease
  /** reads the bytes of a stored file by its digest */
  readFile(digest: string): Promise<Uint8Array>
  /** opened at the first call: opening starts the checksums that are due */
  datasets(): Datasets
}

/** Opens data.db for one verb; a gateway may be running. */
export async function withCiteData<O>(
  command: Command,
  deps: CliDeps,
  act: (data: CiteData, options: O & GlobalOptions) => Promise<void>,
): Promise<void> {
  const options = command.optsWithGlobals<O & GlobalOptions>()
  const { dataDir, config } = readSettings(options, deps)
  const layout = layoutOf(dataDir, config.encryption.keyFile)
  if (!existsSync(layout.dataDb)) {
    throw new Error(`${dataDir} holds no tables yet: give the --data-dir of a gateway that has been running`)
  }
  deps.makeFilesPrivate()
  const data = await retryBusy(() => openDataDb(layout.dataDb))
  limitValues(data.writer, config.limits.valueBytes) // not the reader: an export has every value
  const keyring = openKeyring(layout.keyFile, { hasEncrypted: () => hasEncryptedValues(layout.root) })
  const files = createBlobStore({ dir: layout.filesDir, tempDir: layout.tempDir })
  const timeZoneMin = parseOffset(config.service.timeZone) ?? 0
  const readFile = (digest: string) => readBlob(files, digest)
  const clock = createClock(0)
  const stores = openDatasetStores(data)
  let opened: Datasets | undefined
  const datasets = () => {
    opened ??= createDatasets({
      stores,
      lock: data.lock,
      keyring,
      timeZoneMin,
      readFile,
      newId: randomUUID,
      log: deps.createLog(config.log.level),
      nowUs: () => clock.nowUs(),
      pageRows: config.limits.pageRows,
    })
    return opened
  }
  try {
    const lease = createSweepLease(layout.leaseDb)
    await act({ data, stores, keyring, files, timeZoneMin, lease, readFile, datasets }, options)
  } finally {
    await opened?.close()
    data.close()
  }
}
