import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { messageOf } from '../errors.js'

/** Paths of the data directory. Names become paths only in this file. */
export interface DataLayout {
  root: string
  /** keys, sessions, models, upstreams, transfers: small writes */
  stateDb: string
  /** loader tables, datasets, citations: bulk writes */
  dataDb: string
  /** locked by the gateway that serves this directory */
  lockDb: string
  /** locked while bytes are removed and while a backup needs them, see `storage/sweep-lease.ts` */
  leaseDb: string
  mapsDir: string
  /** bytes of models by digest; `state.db` refers to them */
  modelsDir: string
  /** bytes of `file` columns by digest; `data.db` refers to them, so they are never shared with models */
  filesDir: string
  /** unfinished files; emptied at the start. In the same file system as the other directories, for renames */
  tempDir: string
  /** unfinished resumable uploads and fetches; kept over a restart */
  partsDir: string
  /** deltas of models that are being sent; made again when they are lost */
  deltasDir: string
  /** dataproc modules, unless `dataproc.modulesDir` is set */
  modulesDir: string
  /** hub: files that profiles name, by digest; `state.db` refers to them */
  fleetFilesDir: string
  /** member: files of the profile in force, by digest; what is installed is made of them */
  fleetHeldDir: string
  /** member: unfinished downloads of files; kept over a restart */
  fleetPartsDir: string
  /** member: signed release of the profile that waits for `fieldgate update --staged` */
  fleetReleaseDir: string
  /** last choice of the single executable for its SQLite addon; created only then */
  nativeDir: string
  /** runs, sessions, applications and logs of dataproc modules */
  dataprocDir: string
  /** key that encrypts secrets and encrypted columns */
  keyFile: string
  /** first admin key and its secret, as headers; written by a first start that has no terminal */
  firstKeyFile: string
  /** files of `serve --demo`: a request, the headers that authenticate it, the address of the gateway */
  demoDir: string
  /** present from the first damaged page of a database on, see `damage-note.ts` */
  damageNote: string
}

/**
 * Folder of the data directory that exists during a restore; nothing else may use the data directory then.
 */
export const RESTORE_PART = 'restore.part'

/** Returns the paths of a data directory. Creates nothing. @param keyFile absent for the one in the directory */
export function layoutOf(dataDir: string, keyFile?: string): DataLayout {
  const root = path.resolve(dataDir)
  return {
    root,
    stateDb: path.join(root, 'state.db'),
    dataDb: path.join(root, 'data.db'),
    lockDb: path.join(root, 'lock.db'),
    leaseDb: path.join(root, 'lease.db'),
    mapsDir: path.join(root, 'maps'),
    modelsDir: path.join(root, 'models'),
    filesDir: path.join(root, 'files'),
    tempDir: path.join(root, 'tmp'),
    partsDir: path.join(root, 'parts'),
    deltasDir: path.join(root, 'deltas'),
    modulesDir: path.join(root, 'modules'),
    fleetFilesDir: path.join(root, 'fleet', 'files'),
    fleetHeldDir: path.join(root, 'fleet', 'held'),
    fleetPartsDir: path.join(root, 'fleet', 'parts'),
    fleetReleaseDir: path.join(root, 'fleet', 'release'),
    nativeDir: path.join(root, 'native'),
    dataprocDir: path.join(root, 'dataproc'),
    keyFile: keyFile ?? path.join(root, 'secret.key'),
    firstKeyFile: path.join(root, 'first-admin-key'),
    demoDir: path.join(root, 'demo'),
    damageNote: path.join(root, 'damage.json'),
  }
}

/**
 * Creates the directories with mode 0700.
 *
 * @throws Error naming the data directory if it cannot be created, or if an unfinished restore is in it
 */
export function makeDirectories(layout: DataLayout): void {
  if (existsSync(path.join(layout.root, RESTORE_PART))) {
    throw new Error(
      `a restore into ${layout.root} was cut off (or goes on): run \`fieldgate restore\` with this --data-dir again`,
    )
  }
  try {
    makeDirectory(layout.root)
    chmodSync(layout.root, 0o700)
  } catch (error) {
    const message = `the data directory ${layout.root} cannot be made: ${messageOf(error)}; choose another --data-dir`
    throw new Error(message, { cause: error })
  }
  const { mapsDir, modelsDir, filesDir, tempDir, partsDir, modulesDir } = layout
  for (const dir of [mapsDir, modelsDir, filesDir, tempDir, partsDir, modulesDir]) {
    makeDirectory(dir)
  }
}

/**
 * Creates a directory and its parents with mode 0700.
 *
 * It goes level by level, because Node's recursive form never returns where the system answers ENOENT for a
 * new name (`/proc/x`).
 */
export function makeDirectory(dir: string): void {
  if (isDirectory(dir)) return
  if (path.dirname(dir) !== dir) makeDirectory(path.dirname(dir))
  try {
    mkdirSync(dir, { mode: 0o700 })
  } catch (error) {
    if (!isDirectory(dir)) throw error // created by another program meanwhile
  }
}

function isDirectory(dir: string): boolean {
  return statSync(dir, { throwIfNoEntry: false })?.isDirectory() ?? false
}

/** Removes the unfinished files of an earlier run. The caller holds the lock of the directory. */
export function emptyTempDir(layout: DataLayout): void {
  for (const name of readdirSync(layout.tempDir))
    rmSync(path.join(layout.tempDir, name), { recursive: true, force: true })
}

/** Returns the map files of the data directory, sorted by name. */
export function mapFiles(layout: DataLayout): string[] {
  return readdirSync(layout.mapsDir)
    .filter((name) => name.endsWith('.graph'))
    .sort()
    .map((name) => path.join(layout.mapsDir, name))
}

/** Returns the file of the base map beside a map file, which may not exist. */
export function baseFileOf(mapFile: string): string {
  return `${mapFile.replace(/\.graph$/, '')}.mbtiles`
}
