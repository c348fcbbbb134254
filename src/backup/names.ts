import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import type { DataLayout } from '../files/layout.js'
import type { DatabaseName, Databases, Maintenance, NamedModel } from '../storage/maintenance.js'

/** Node and bytes that the rows of a copy refer to. */
export interface StoredNames {
  readonly nodeId: string
  readonly models: readonly NamedModel[]
  /** digests of files in table columns, sorted */
  readonly tableFiles: readonly string[]
}

/**
 * Reads the node's id and the digests that rows refer to.
 *
 * @param dir folder with copies of the databases; `data.db` may be missing
 * @throws Error naming both versions when a copy has another schema than this program's
 */
export async function readStoredNames(dir: string, { databases, facts }: Maintenance): Promise<StoredNames> {
  await requireKnownSchema(dir, 'state.db', databases)
  const nodeId = await facts.nodeId(dir)
  if (nodeId === undefined)
    throw new Error(`${path.join(dir, 'state.db')} names no node: run \`fieldgate init\` first`)
  const models = await facts.models(dir)
  if (!(await databases.list(dir)).includes('data.db')) return { nodeId, models, tableFiles: [] }
  await requireKnownSchema(dir, 'data.db', databases)
  return { nodeId, models, tableFiles: await facts.fileDigests(dir) }
}

async function requireKnownSchema(dir: string, name: DatabaseName, databases: Databases): Promise<void> {
  const found = await databases.schemaVersion(dir, name)
  const known = databases.knownVersions[name]
  if (found === known) return
  const advice =
    found > known
      ? 'use the Fieldgate version that serves this data directory'
      : 'start the gateway once with this Fieldgate, or use the version that wrote it'
  throw new Error(`${name} has schema version ${found}, this Fieldgate reads ${known}: ${advice}`)
}

/** A file of the data directory that is named by its path, not by a digest. */
export interface PlainFile {
  /** relative to the data directory, separated by `/` */
  path: string
  file: string
  sizeBytes: number
  isExecutable: boolean
}

/**
 * Files that modules keep between runs; the other folders of `dataproc/` belong to one run or one session.
 */
const APPLICATIONS = path.join('dataproc', 'applications')

/**
 * Lists maps, modules, the files that modules keep between runs, and those that a hub keeps for its fleet.
 * Symbolic links and special files are left out, because they can point outside the data directory. What a
 * member holds for its profile is left out, because its hub has it.
 */
export function listPlainFiles({ root, modulesDir, mapsDir, fleetFilesDir }: DataLayout): PlainFile[] {
  const maps = filesBelow(root, mapsDir).filter((one) => /\.(?:graph|mbtiles)$/.test(one.path))
  const kept = [modulesDir, path.join(root, APPLICATIONS), fleetFilesDir]
  return [...maps, ...kept.flatMap((dir) => filesBelow(root, dir))]
}

function filesBelow(root: string, dir: string): PlainFile[] {
  if (statSync(dir, { throwIfNoEntry: false })?.isDirectory() !== true) return []
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.part'))
    .flatMap((entry) => {
      const file = path.join(entry.parentPath, entry.name)
      const found = statSync(file, { throwIfNoEntry: false })
      if (found === undefined) return [] // removed since the folder was listed
      const { size, mode } = found
      return [
        {
          path: path.relative(root, file).split(path.sep).join('/'),
          file,
          sizeBytes: size,
          isExecutable: (mode & 0o100) !== 0,
        },
      ]
    })
    .sort((a, b) => (a.path < b.path ? -1 : 1))
}
