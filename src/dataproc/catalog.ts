import { constants } from 'node:fs'
import { access, lstat, open, readdir, realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import { AppError, messageOf } from '../errors.js'
import { ifThere } from '../files/blob-store.js'
import {
  type DefinitionFault,
  type ModuleDefinition,
  readDefinition,
  type ScriptDefinition,
} from './definition.js'
import { type DataprocLayout, isModuleName, modulePath } from './layout.js'

/** Listed module. One with faults cannot be run. */
export type ListedModule = ModuleDefinition & { faults?: DefinitionFault[] }

/** Modules of a gateway. Every call reads the directory, so that a new module can be used at once. */
export interface ModuleCatalog {
  list(): Promise<ListedModule[]>
  /** @throws AppError UNKNOWN_MODULE, BAD_MODULE with every fault */
  find(name: string): Promise<ModuleDefinition>
  /**
   * Returns the file of a script.
   *
   * @throws AppError BAD_MODULE when it is missing, outside the module, or not executable
   */
  scriptFile(module: string, script: ScriptDefinition): Promise<string>
}

const MAX_DEFINITION_BYTES = 1024 * 1024

/** Opens the modules in the folder of a layout. */
export function createModuleCatalog(layout: DataprocLayout): ModuleCatalog {
  return {
    async list() {
      const names = (await ifThere(readdir(layout.modulesDir))) ?? []
      const modules: ListedModule[] = []
      for (const name of names.filter(isModuleName).sort()) {
        const read = await readModule(layout, name)
        if (read === undefined) continue
        if ('definition' in read) modules.push(read.definition)
        else modules.push({ ...NO_DEFINITION, name, faults: read.faults })
      }
      return modules
    },
    async find(name) {
      const read = isModuleName(name) ? await readModule(layout, name) : undefined
      if (read === undefined) throw unknownModule(name)
      if ('faults' in read) throw badModule(name, read.faults)
      return read.definition
    },
    scriptFile: (module, script) => scriptFile(modulePath(layout, module), module, script),
  }
}

/** Definition of a module whose own cannot be read. */
const NO_DEFINITION = { description: '', supports: [], definitions: {}, scripts: {} }

/** Returns undefined when no folder has the name. */
async function readModule(
  layout: DataprocLayout,
  name: string,
): Promise<ReturnType<typeof readDefinition> | undefined> {
  const folder = modulePath(layout, name)
  const found = await ifThere(lstat(folder))
  if (found?.isSymbolicLink() === true)
    return { faults: [{ path: name, message: 'found a symbolic link, expected a directory' }] }
  if (found?.isDirectory() !== true) return undefined
  try {
    return readDefinition(await readSmallFile(path.join(folder, 'definition.json')), name)
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    const message = isMissing ? 'is missing' : `cannot be read: ${reasonOf(error)}`
    return { faults: [{ path: 'definition.json', message }] }
  }
}

/** @throws Error for links, pipes and files over 1 MiB */
async function readSmallFile(file: string): Promise<string> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const { size } = await regular(handle)
    if (size > MAX_DEFINITION_BYTES)
      throw new Error(`found ${size} bytes, expected at most ${MAX_DEFINITION_BYTES}`)
    return await handle.readFile('utf8')
  } finally {
    await handle.close()
  }
}

async function regular(handle: {
  stat(): Promise<{ isFile(): boolean; size: number }>
}): Promise<{ size: number }> {
  const found = await handle.stat()
  if (!found.isFile()) throw new Error('is not a regular file')
  return found
}

async function scriptFile(folder: string, module: string, script: ScriptDefinition): Promise<string> {
  const fault = (message: string) => badModule(module, [{ path: script.path, message }])
  const file = path.join(folder, script.path)
  const real = await ifThere(realpath(file))
  if (real === undefined) throw fault('is missing')
  if (!real.startsWith(`${await realpath(folder)}${path.sep}`))
    throw fault('is outside the folder of the module')
  if (!(await stat(real)).isFile()) throw fault('is not a regular file, expected a program')
  if (isNodeScript(real)) return real
  try {
    await access(real, constants.X_OK)
  } catch {
    throw fault('is not executable; run chmod +x on it')
  }
  return real
}

/** Returns whether Node runs the file; its mode does not matter then. */
export function isNodeScript(file: string): boolean {
  return /\.[cm]?[jt]s$/.test(file)
}

/** Returns the error for a name that no module has. */
function unknownModule(name: string): AppError {
  const shown = name.slice(0, 100)
  return new AppError(
    'UNKNOWN_MODULE',
    { module: shown },
    { message: `No module is named ${JSON.stringify(shown)}` },
  )
}

function badModule(name: string, faults: DefinitionFault[]): AppError {
  const [first] = faults
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : ''
  const message = `The module ${name} cannot be used: ${first?.path}: ${first?.message}${more}`
  return new AppError('BAD_MODULE', { module: name, faults }, { message })
}

/** Returns the system's error code, which holds no path, else the message. */
function reasonOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : messageOf(error)
}
