import { constants } from 'node:fs'
import { access, lstat, open, readdir, realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import { AppError, messageOf } from '../errors.js'
import { ifThere } from '../files/blob-store.js'
import { candidates } from '../messages/candidates.js'
import {
  type DefinitionFault,
  type ModuleDefinition,
  readDefinition,
  type ScriptDefinition,
} from './definition.js'
import { type DataprocLayout, isModuleName, modulePath } from './layout.js'

/** Listed module. One with faults cannot be run. `folder` is present where it differs from the name. */
export type ListedModule = ModuleDefinition & { folder?: string; faults?: DefinitionFault[] }

/** A module that may be run. Its folder names its directories. */
interface InstalledModule {
  readonly folder: string
  readonly definition: ModuleDefinition
}

/** Modules of a gateway. Every call reads the directory, so that a new module can be used at once. */
export interface ModuleCatalog {
  list(): Promise<ListedModule[]>
  /**
   * Finds a module by the name of its folder or of its definition.
   *
   * @throws AppError UNKNOWN_MODULE; BAD_MODULE with every fault, or when two folders have the name
   */
  find(name: string): Promise<InstalledModule>
  /**
   * Returns the file of a script.
   *
   * @param folder name of the module's folder
   * @throws AppError BAD_MODULE when it is missing, outside the module, or not executable
   */
  scriptFile(folder: string, script: ScriptDefinition): Promise<string>
}

const MAX_DEFINITION_BYTES = 1024 * 1024

/** Opens the modules in the folder of a layout. */
export function createModuleCatalog(layout: DataprocLayout): ModuleCatalog {
  return {
    async list() {
      const modules = await readModules(layout)
      return modules.map((module) => listed(module, twinOf(module, modules)))
    },
    async find(name) {
      const modules = await readModules(layout)
      const found = modules.filter((module) => namesOf(module).includes(name))
      const [module] = found
      if (module === undefined) throw unknownModule(name, modules.map(nameOf))
      if (found.length > 1) throw badModule(name, [twinFault(found.map(({ folder }) => folder))])
      if ('faults' in module) throw badModule(name, module.faults)
      return module
    },
    scriptFile: (folder, script) => scriptFile(modulePath(layout, folder), folder, script),
  }
}

/** Content of a folder of modules. */
type ReadModule = { readonly folder: string } & ReturnType<typeof readDefinition>

async function readModules(layout: DataprocLayout): Promise<ReadModule[]> {
  const folders = (await ifThere(readdir(layout.modulesDir))) ?? []
  const modules: ReadModule[] = []
  for (const folder of folders.filter(isModuleName).sort()) {
    const read = await readModule(layout, folder)
    if (read !== undefined) modules.push({ folder, ...read })
  }
  return modules
}

/** Names by which a module is called. */
function namesOf(module: ReadModule): string[] {
  return [module.folder, nameOf(module)]
}

function nameOf(module: ReadModule): string {
  return 'definition' in module ? module.definition.name : module.folder
}

/** Returns another module with one of its names. */
function twinOf(module: ReadModule, modules: readonly ReadModule[]): ReadModule | undefined {
  const names = namesOf(module)
  return modules.find((other) => other !== module && namesOf(other).some((name) => names.includes(name)))
}

function twinFault(folders: readonly string[]): DefinitionFault {
  const shown = folders.map((folder) => JSON.stringify(folder)).join(' and ')
  return { path: 'definition.json: $.name', message: `found one name in the folders ${shown}, expected two` }
}

function listed(module: ReadModule, twin: ReadModule | undefined): ListedModule {
  const { folder } = module
  if ('faults' in module) return { ...NO_DEFINITION, name: folder, faults: module.faults }
  const { definition } = module
  return {
    ...definition,
    ...(definition.name === folder ? {} : { folder }),
    ...(twin === undefined ? {} : { faults: [twinFault([folder, twin.folder])] }),
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
    return readDefinition(await readSmallFile(path.join(folder, 'definition.json')))
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
function unknownModule(name: string, known: readonly string[]): AppError {
  const shown = name.slice(0, 100)
  return new AppError(
    'UNKNOWN_MODULE',
    { module: shown },
    { message: `No module is named ${JSON.stringify(shown)}, expected one of: ${candidates(known, name)}` },
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
