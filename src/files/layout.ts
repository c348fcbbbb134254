import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { messageOf } from '../errors.js'

/** Where everything lies in the data directory. The only place where names become paths. */
export interface DataLayout {
  root: string
  /** keys, sessions, models, upstreams, transfers: small writes that never wait */
  stateDb: string
  /** loader tables, datasets, citations: bulk writes */
  dataDb: string
  /** held open by the gateway that serves this directory */
  lockDb: string
  /** held while bytes are removed, and while a backup needs them to stay, see storage/lease.ts */
  leaseDb: string
  mapsDir: string
  /** models' bytes by digest; swept by what `state.db` names */
  modelsDir: string
  /** bytes of `file` columns by digest; swept by what `data.db` names, so never shared with the models */
  filesDir: string
  /** half-written files; emptied at start. In the same file system as what they become by rename */
  tempDir: string
  /** resumable uploads and fetches that are not whole yet; they outlive a restart */
  partsDir: string
  /** dataproc modules, unless `dataproc.modulesDir` names another place */
  modulesDir: string
  /** where the single executable unpacks its SQLite addon when no temporary directory will do; made by it alone */
  nativeDir: string
  /** runs, sessions, applications and logs of dataproc modules */
  dataprocDir: string
  /** key that encrypts secrets and encrypted columns */
  keyFile: string
}

/** Folder of the data directory in which a restore works; while it is there nothing else may. */
export const RESTORE_PART = 'restore.part'

/** Paths only; nothing is made. */
export function layoutOf(dataDir: string): DataLayout {
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
    modulesDir: path.join(root, 'modules'),
    nativeDir: path.join(root, 'native'),
    dataprocDir: path.join(root, 'dataproc'),
    keyFile: path.join(root, 'secret.key'),
  }
}

/**
 * Makes the directories, readable by this user alone.
 *
 * @throws Error that says what stands in the way of the data directory
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
 * Makes a directory and those above it, readable by this user alone.
 *
 * Level by level: Node's own recursive form never comes back where the system says "no such file" to a new name (`/proc/x`).
 */
export function makeDirectory(dir: string): void {
  if (isDirectory(dir)) return
  if (path.dirname(dir) !== dir) makeDirectory(path.dirname(dir))
  try {
    mkdirSync(dir, { mode: 0o700 })
  } catch (error) {
    if (!isDirectory(dir)) throw error // another program may have been quicker
  }
}

function isDirectory(dir: string): boolean {
  return statSync(dir, { throwIfNoEntry: false })?.isDirectory() ?? false
}

/** Removes what an earlier run left half-written. Only the gateway that holds the lock may. */
export function emptyTempDir(layout: DataLayout): void {
  for (const name of readdirSync(layout.tempDir))
    rmSync(path.join(layout.tempDir, name), { recursive: true, force: true })
}

/** Map files of the data directory, in the order of their names. */
export function mapFiles(layout: DataLayout): string[] {
  return readdirSync(layout.mapsDir)
    .filter((name) => name.endsWith('.graph'))
    .sort()
    .map((name) => path.join(layout.mapsDir, name))
}
