import { existsSync, statSync } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { syncFolder } from '../files/blob-store.js'
import { unpackTar } from '../files/untar.js'
import { createModuleCatalog } from './catalog.js'
import { type DataprocLayout, modulePath } from './layout.js'

const MAX_FILES = 10_000
const MAX_BYTES = 1024 ** 3

export interface InstallModuleDeps {
  readonly layout: DataprocLayout
  /** @throws AppError DISK_FULL */
  requireSpace(bytes: number): Promise<void>
}

/**
 * Installs a module from a tar archive, plain or gzip, in the place of the one that has the name. The archive
 * holds `definition.json`, at its top or in its only folder. It is unpacked and checked beside the old one, which
 * stays until then; runs that go on keep its open files.
 *
 * @throws AppError BAD_MODULE, DISK_FULL; Error in one line for another archive
 */
export async function installModule(
  { layout, requireSpace }: InstallModuleDeps,
  name: string,
  archive: string,
): Promise<void> {
  const { modulesDir } = layout
  const target = modulePath(layout, name)
  const work = workOf(layout, name)
  await rm(work, { recursive: true, force: true })
  try {
    const unpacked = path.join(work, 'unpacked')
    await mkdir(unpacked, { recursive: true, mode: 0o700 })
    await unpackTar(archive, unpacked, { maxFiles: MAX_FILES, maxBytes: MAX_BYTES, requireSpace })
    const checked = path.join(work, 'checked')
    await mkdir(checked, { mode: 0o700 })
    await rename(await topOf(unpacked), path.join(checked, name))
    await requireUsable({ ...layout, modulesDir: checked }, name)
    await exchange(path.join(checked, name), target, path.join(work, 'old'))
    await syncFolder(modulesDir)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** Removes a module. Its `application` directory stays. */
export async function removeModule(layout: DataprocLayout, name: string): Promise<void> {
  const [target, work] = [modulePath(layout, name), workOf(layout, name)]
  if (!existsSync(target)) return
  await rm(work, { recursive: true, force: true })
  // by one rename, so that no run finds a part of it
  await rename(target, work)
  await rm(work, { recursive: true, force: true })
  await syncFolder(layout.modulesDir)
}

/** Returns a stamp of a module, which changes with its definition; undefined when nothing has the name. */
export function moduleStamp(layout: DataprocLayout, name: string): string | undefined {
  const folder = modulePath(layout, name)
  const found = statSync(folder, { throwIfNoEntry: false })
  if (found === undefined) return undefined
  const definition = statSync(path.join(folder, 'definition.json'), { throwIfNoEntry: false })
  return [found.ino, definition?.ino, definition?.size, definition?.mtimeMs].join(':')
}

/** Returns the directory in which a module is prepared: no module has such a name. */
function workOf({ modulesDir }: DataprocLayout, name: string): string {
  return path.join(modulesDir, `.${name}.part`)
}

/** Returns the folder with the definition: the top of an archive, or its only folder. */
async function topOf(dir: string): Promise<string> {
  const [first, ...others] = await readdir(dir, { withFileTypes: true })
  return first?.isDirectory() === true && others.length === 0 ? path.join(dir, first.name) : dir
}

/** @throws AppError BAD_MODULE; Error for a definition of another name */
async function requireUsable(layout: DataprocLayout, name: string): Promise<void> {
  const catalog = createModuleCatalog(layout)
  const { folder, definition } = await catalog.find(name)
  if (definition.name !== name)
    throw new Error(`definition.json: found the name ${definition.name}, expected ${name}`)
  for (const script of Object.values(definition.scripts)) await catalog.scriptFile(folder, script)
}

/** Puts a folder in the place of another one, which is put back when that fails. */
async function exchange(fresh: string, target: string, old: string): Promise<void> {
  if (!existsSync(target)) return await rename(fresh, target)
  await rename(target, old)
  try {
    await rename(fresh, target)
  } catch (error) {
    // no test: the file system would have to fail between two renames
    await rename(old, target)
    throw error
  }
}
