import { randomUUID } from 'node:crypto'
import { parseOffset } from '../../datetime.js'
import { createBlobStore } from '../../files/blob-store.js'
import { layoutOf, makeDirectories } from '../../files/layout.js'
import { readBlob } from '../../files/read-blob.js'
import { openKeyring } from '../../storage/keyring.js'
import { type DataDb, openDataDb } from '../../storage/sqlite/connection/data-db.js'
import { retryBusy } from '../../storage/sqlite/connection/database.js'
import { createTableReader } from '../../storage/sqlite/tables/reader.js'
import { MAX_SEGMENT_ROWS } from '../../storage/sqlite/tables/segment-index.js'
import type { PutOptions, TableReader } from '../../storage/tables.js'
import { newPathId } from '../../tables/path-id.js'
import { putFile } from '../../tables/put-file.js'
import type { CliDeps, GlobalOptions } from '../io.js'
import { readSettings } from '../settings.js'

/** What verbs of tables work with. */
export interface TableData {
  readonly data: DataDb
  readonly reader: TableReader
  readonly timeZoneMin: number
  /** how records are put, apart from what a verb decides */
  readonly putOptions: Omit<PutOptions, 'ifExists'>
  nowUs(): number
}

const PAGE_ROWS = 1000

/** Opens data.db for one verb, also beside a running gateway; makes it where there is none. */
export async function withTableData<T>(
  globals: GlobalOptions,
  deps: CliDeps,
  act: (tables: TableData) => Promise<T>,
): Promise<T> {
  const { dataDir, config } = readSettings(globals, deps)
  const layout = layoutOf(dataDir)
  deps.makeFilesPrivate()
  makeDirectories(layout)
  const data = await retryBusy(() => openDataDb(layout.dataDb))
  const keyring = openKeyring(layout.keyFile)
  const files = createBlobStore({ dir: layout.filesDir, tempDir: layout.tempDir })
  const timeZoneMin = parseOffset(config.service.timeZone) ?? 0
  const nowUs = () => Date.now() * 1000
  const reader = createTableReader(data.reader, {
    timeZoneMin,
    pageRows: PAGE_ROWS,
    keyring,
    nowUs,
    readFile: (digest) => readBlob(files, digest),
  })
  const putOptions = {
    env: { timeZoneMin, nowUs: BigInt(nowUs()), keyring, newPathId },
    putFile: (bytes: Uint8Array) => putFile(files, bytes),
    maxMergeRows: MAX_SEGMENT_ROWS,
  }
  try {
    return await act({ data, reader, timeZoneMin, putOptions, nowUs })
  } finally {
    data.close()
  }
}

/** A name beside a file for writing it, on the same disk. */
export function partNameOf(file: string): string {
  return `${file}.${randomUUID().slice(0, 8)}.part`
}
