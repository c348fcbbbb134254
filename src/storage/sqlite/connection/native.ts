import { existsSync } from 'node:fs'
import path from 'node:path'
import { isSingleExecutable, readAsset } from '../../../assets.js'
import { unpackAddon } from './unpack-addon.js'

const ADDON = 'better_sqlite3.node'

/**
 * The SQLite addon that came with the program, or undefined when the package's own lookup should find it.
 *
 * esbuild cannot carry a native addon: `npm run build` puts `better_sqlite3.node` beside `fieldgate.cjs`, and the
 * single executable holds it inside. The addon object is handed to better-sqlite3, because its lookup by package path
 * does not work inside a bundle.
 *
 * @throws Error in one line when the executable finds no directory to unpack it to
 */
export function nativeBinding(): object | undefined {
  binding ??= load()
  return binding
}

/** A directory of the gateway's own that the single executable may unpack the addon to, when no temporary one will do. */
export function offerNativeDir(dir: string): void {
  offeredDir = dir
}

let binding: object | undefined
let offeredDir: string | undefined

function load(): object | undefined {
  const named = process.env.FIELDGATE_SQLITE_ADDON
  if (named === undefined && isSingleExecutable()) {
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

/** `__dirname` exists in the CommonJS bundle only; under the test loader the package lookup is right. */
function beside(name: string): string | undefined {
  return typeof __dirname === 'string' ? path.join(__dirname, name) : undefined
}
