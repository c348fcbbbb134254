import { existsSync } from 'node:fs'
import path from 'node:path'
import { isSingleExecutable, readAsset } from '../../../assets.js'
import { unpackAddon } from './unpack-addon.js'

const ADDON = 'better_sqlite3.node'

/**
 * Returns the SQLite addon that comes with the program; undefined to leave the lookup to the package.
 *
 * esbuild cannot bundle a native addon: `npm run build` puts `better_sqlite3.node` beside `fieldgate.cjs`,
 * and the single executable contains it. better-sqlite3 receives the loaded addon, because its lookup by
 * package path fails inside a bundle.
 *
 * @throws Error in one line if the executable finds no directory to unpack the addon to
 */
export function nativeBinding(): object | undefined {
  binding ??= load()
  return binding
}

/**
 * Names a directory that the single executable may unpack the addon to if no temporary directory is suitable.
 */
export function offerNativeDir(dir: string): void {
  offeredDir = dir
}

let binding: object | undefined
let offeredDir: string | undefined

function load(): object | undefined {
  const named = process.env.FIELDGATE_SQLITE_ADDON
  if (named === undefined && isSingleExecutable()) {
    // no test: runs in the single executable alone, which scripts/package-test starts
    const bytes = readAsset(ADDON)
    if (bytes === undefined) throw new Error(`the executable was built without ${ADDON}`)
    return unpackAddon(bytes, readAsset(`${ADDON}.sha256`)?.toString('utf8').trim(), offeredDir, dlopen)
  }
  const file = named ?? beside(ADDON)
  return file === undefined || !existsSync(file) ? undefined : dlopen(file)
}

function dlopen(file: string): object {
  const addon = { exports: {} }
  process.dlopen(addon, file)
  return addon.exports
}

/**
 * Returns a path beside the bundle. `__dirname` exists only there; under the test loader the package finds
 * its addon.
 */
function beside(name: string): string | undefined {
  // no test: a bundle has it, tests run the sources
  return typeof __dirname === 'string' ? path.join(__dirname, name) : undefined
}
