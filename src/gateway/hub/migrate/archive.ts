import { createReadStream } from 'node:fs'
import path from 'node:path'
import { digestOf } from '../../../files/blob-store.js'
import type { DataLayout } from '../../../files/layout.js'
import type { RowState } from '../../../storage/datasets/states.js'
import { computeSums } from '../../../storage/formats/checksum.js'
import { createMetaStore } from '../../../storage/postgres/access/meta.js'
import type { PostgresDb } from '../../../storage/postgres/connection/database.js'
import type { MoveWork } from '../../../storage/postgres/move/hub.js'
import { openDatasetStores } from '../../../storage/sqlite/dataset-stores.js'
import { writeArchive } from '../../../storage/sqlite/move/archive.js'
import { openArchive } from '../../../storage/sqlite/open-archive.js'
import { ARCHIVE } from '../datasets/named-objects.js'
import type { HubObjects } from '../engines/connect.js'
import { copyObject, openBytes } from './bytes.js'

interface Engines {
  readonly db: PostgresDb
  readonly objects: HubObjects
}

/** Stores the datasets and citations of a data directory as one object, with the files that cited rows name. */
export async function moveArchive(
  { db, objects }: Engines,
  from: DataLayout,
  layout: DataLayout,
  work: MoveWork,
): Promise<void> {
  const meta = createMetaStore(db)
  if ((await meta.noted(ARCHIVE)) !== undefined) return
  const file = path.join(layout.tempDir, 'datasets.db')
  const made = writeArchive(from.dataDb, file)
  if (made === undefined) return
  const to = objects.store('datasets')
  const files = openBytes(from, 'files')
  for (const sha256 of made.files) {
    work.throwIfStopped()
    if (files !== undefined) await copyObject(files, to, { sha256, sizeBytes: undefined, mayLack: false })
  }
  const facts = await digestOf(createReadStream(file))
  await (await to.stageFile(file, facts)).keep()
  await meta.note(ARCHIVE, facts.sha256)
}

/** Compares each dataset by its rows, and each citation by the checksum that was recorded. @returns what differs */
export async function compareArchive(
  { db, objects }: Engines,
  from: DataLayout,
  work: MoveWork,
): Promise<{ faults: string[]; citations: number }> {
  const sha256 = await createMetaStore(db).noted(ARCHIVE)
  const file = sha256 === undefined ? undefined : await objects.store('datasets').localFile(sha256)
  const [before, now] = [openArchive(from.dataDb), openArchive(file)]
  try {
    const [there, here] = [openDatasetStores(before), openDatasetStores(now)]
    const faults: string[] = []
    const cited = await there.citations.all()
    for (const { info } of cited) {
      work.throwIfStopped()
      const found = await checksumOf(await here.citations.find(info.longForm))
      if (found !== info.checksum)
        faults.push(`${info.longForm}: found rows with the checksum ${found}, expected ${info.checksum}`)
    }
    const env = { timeZoneMin: 0, nowUs: 0n }
    for (const { longForm } of await there.datasets.list({ env })) {
      work.throwIfStopped()
      const [expected, found] = [
        await checksumOf(await there.datasets.find(longForm, 0)),
        await checksumOf(await here.datasets.find(longForm, 0)),
      ]
      if (found !== expected)
        faults.push(`${longForm}: found rows with the checksum ${found}, expected ${expected}`)
    }
    return { faults, citations: cited.length }
  } finally {
    before.close()
    now.close()
  }
}

async function checksumOf(state: RowState | undefined): Promise<string | undefined> {
  return state === undefined ? undefined : (await computeSums(state)).checksum
}
