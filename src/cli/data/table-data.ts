import { randomUUID } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { parseOffset } from '../../datetime.js'
import { createBlobStore } from '../../files/blob-store.js'
import { type DataLayout, layoutOf, makeDirectories, RESTORE_PART } from '../../files/layout.js'
import { readBlob } from '../../files/read-blob.js'
import { logsUnreadable, openKeyring } from '../../storage/keyring.js'
import type { RetentionStore } from '../../storage/retention.js'
import { openDataDb } from '../../storage/sqlite/connection/data-db.js'
import { retryBusy } from '../../storage/sqlite/connection/database.js'
import { limitValues } from '../../storage/sqlite/connection/value-limit.js'
import { hasEncryptedValues } from '../../storage/sqlite/maintenance/encrypted-values.js'
import { createRetentionStore } from '../../storage/sqlite/retention/store.js'
import { openTables } from '../../storage/sqlite/tables/store.js'
import type { PutOptions, TableReader, TableStore } from '../../storage/tables.js'
import { newPathId } from '../../tables/path-id.js'
import { putFile } from '../../tables/put-file.js'
import type { CliDeps, GlobalOptions } from '../io.js'
import { readSettings } from '../settings.js'

/** Tables of a data directory as the verbs of tables use them. */
export interface TableData {
  readonly store: TableStore
  readonly reader: TableReader
  readonly rules: RetentionStore
  /** `service.timeZone`, minutes east of UTC */
  readonly timeZoneMin: number
  /** options of storing records, apart from what a verb decides */
  readonly putOptions: Omit<PutOptions, 'ifExists'>
  /** µs UTC */
  nowUs(): number
}

const PAGE_ROWS = 1000

/**
 * Opens `data.db` for one verb, also beside a running gateway; creates it in a new or empty directory.
 *
 * @throws Error when the directory holds files, and none of a gateway: its name was probably mistyped
 */
export async function withTableData<T>(
  globals: GlobalOptions,
  deps: CliDeps,
  act: (tables: TableData) => Promise<T>,
): Promise<T> {
  const { dataDir, config } = readSettings(globals, deps)
  const layout = layoutOf(dataDir, config.encryption.keyFile)
  if (holdsOtherFiles(layout))
    throw new Error(`${dataDir} holds files, and no gateway's data: give the --data-dir of the gateway`)
  deps.makeFilesPrivate()
  makeDirectories(layout)
  const data = await retryBusy(() => openDataDb(layout.dataDb))
  limitValues(data.writer, config.limits.valueBytes) // not the reader: an export has every value
  try {
    const keyring = openKeyring(layout.keyFile, {
      hasEncrypted: () => hasEncryptedValues(layout.root),
      onUnreadable: logsUnreadable(deps.createLog('warn')),
    })
    const files = createBlobStore({ dir: layout.filesDir, tempDir: layout.tempDir })
    const timeZoneMin = parseOffset(config.service.timeZone) ?? 0
    const nowUs = () => Date.now() * 1000
    const readFile = (digest: string) => readBlob(files, digest)
    const tables = openTables(data, { timeZoneMin, pageRows: PAGE_ROWS, keyring, nowUs, readFile })
    const putOptions = {
      env: { timeZoneMin, nowUs: BigInt(nowUs()), keyring, newPathId },
      putFile: (bytes: Uint8Array) => putFile(files, bytes),
    }
    const sizeOfFile = async (digest: string) => (await files.stat(digest))?.sizeBytes ?? 0
    const rules = createRetentionStore(data, sizeOfFile)
    return await act({ ...tables, rules, timeZoneMin, putOptions, nowUs })
  } finally {
    data.close()
  }
}

function holdsOtherFiles(layout: DataLayout): boolean {
  const { root } = layout
  // `makeDirectories` says what is wrong with anything else
  if (statSync(root, { throwIfNoEntry: false })?.isDirectory() !== true) return false
  const own = Object.values(layout).map((file) => path.relative(root, file).split(path.sep)[0])
  const names = readdirSync(root).filter((name) => name !== 'lost+found') // of a file system of its own
  return names.length > 0 && !names.some((name) => name === RESTORE_PART || own.includes(name))
}

/** Returns a name beside a file for writing it, on the same disk. */
export function partNameOf(file: string): string {
  return `${file}.${randomUUID().slice(0, 8)}.part`
}
