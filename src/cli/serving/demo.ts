import { randomUUID } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { DEMO, writeDemoTown } from '../../demo/town.js'
import type { DataLayout } from '../../files/layout.js'
import { type MeshDegree, meshRange, meshRing } from '../../geo/mesh.js'
import { visitOverlappedCells } from '../../geo/mesh-cover.js'
import { shapeOf } from '../../geo/shape.js'
import { buildMap } from '../../mapbuild/build-map.js'
import { writeGraphFile } from '../../mapbuild/graph/write-graph.js'
import { openKeyring } from '../../storage/keyring.js'
import { type DataDb, openDataDb } from '../../storage/sqlite/connection/data-db.js'
import { retryBusy, transaction } from '../../storage/sqlite/connection/database.js'
import { hasEncryptedValues } from '../../storage/sqlite/maintenance/encrypted-values.js'
import { openState } from '../../storage/sqlite/state.js'
import { findTable, registerTable } from '../../storage/sqlite/tables/catalog.js'
import { putRecords } from '../../storage/sqlite/tables/put.js'
import type { Column } from '../../storage/tables.js'

/** The demo's risk map theme, and the table of its cells. */
export const FLOOD = 'flood'
/** Cells of about 350 m by 230 m. */
const FLOOD_DEGREE: MeshDegree = 5
const FLOOD_LEVEL = 10
const FLOOD_FROM = '2020-01-01T00:00:00Z'
const FLOOD_UNTIL = '2100-01-01T00:00:00Z'

/** Name of an empty model store, to try uploads. */
const DEMO_STORE = 'demo'

/**
 * Creates the demo's map, risk theme and model store, each only if it is missing. The caller holds the lock
 * of the directory.
 */
export async function prepareDemo(layout: DataLayout, version: string): Promise<void> {
  await buildDemoMap(layout, version)
  await createDemoStore(layout)
  const data = await retryBusy(() => openDataDb(layout.dataDb))
  try {
    if (findTable(data.reader, FLOOD) === undefined) await putFlood(data, layout)
  } finally {
    data.close()
  }
}

/** Writes the town as an OSM extract and builds a map from it, as `map build` does. */
async function buildDemoMap(layout: DataLayout, version: string): Promise<void> {
  const graph = path.join(layout.mapsDir, `${DEMO.mapName}.graph`)
  if (existsSync(graph)) return
  const input = path.join(layout.mapsDir, DEMO.extractName)
  writeFileSync(input, writeDemoTown())
  const { mapName: name, attribution, licence } = DEMO
  const builtBy = `fieldgate ${version}`
  writeGraphFile(
    graph,
    await buildMap({ input, profile: 'car', country: null, name, builtBy, attribution, licence }),
  )
}

/** Creates an empty model store. */
async function createDemoStore(layout: DataLayout): Promise<void> {
  const state = await openState(layout.stateDb)
  try {
    await state.modelStores.create(DEMO_STORE) // changes nothing if it exists
  } finally {
    await state.close()
  }
}

/**
 * Registers the theme and stores its cells, with the functions that `register_loader` and `add_record` use.
 */
async function putFlood(data: DataDb, layout: DataLayout): Promise<void> {
  const nowUs = Date.now() * 1000
  const table = transaction(data.writer, () =>
    registerTable(
      data.writer,
      {
        dataName: FLOOD,
        schema: 'event',
        columns: [column('cell', 'int4', false), column('risk', 'int2', false)],
        uniqueColumns: ['cell'],
      },
      nowUs,
    ),
  )
  await putRecords(data.writer, table, floodCells(), {
    ifExists: 'override',
    env: {
      timeZoneMin: 0,
      nowUs: BigInt(nowUs),
      keyring: openKeyring(layout.keyFile, { hasEncrypted: () => hasEncryptedValues(layout.root) }),
      newPathId: randomUUID,
    },
    putFile: () => Promise.reject(new Error('the flood table has no file columns')),
    maxMergeRows: 1000,
  })
}

/** Grid cells that the flood covers, as features for the table. */
function floodCells(): object[] {
  const cells: object[] = []
  for (const area of DEMO.floods) {
    const shape = shapeOf(area)
    if (shape.bbox === undefined) continue
    visitOverlappedCells(shape, meshRange(FLOOD_DEGREE, shape.bbox), (east, north) => {
      cells.push({
        type: 'Feature',
        geometry: { type: 'Polygon', coordinates: [meshRing(FLOOD_DEGREE, east, north)] },
        properties: {
          start_datetime: FLOOD_FROM,
          end_datetime: FLOOD_UNTIL,
          cell: cells.length + 1,
          risk: FLOOD_LEVEL,
        },
      })
    })
  }
  return cells
}

function column(name: string, udtName: Column['udtName'], isNullable: boolean): Column {
  return {
    name,
    udtName,
    isNullable,
    columnDefault: null,
    length: null,
    srid: null,
    isEncrypted: false,
    file: null,
  }
}
